//! Chargebee: HTTP Basic authentication, which proves the sender and not the content.
//!
//! Source: chargebee.com/docs/2.0/webhook_settings.html; apidocs.chargebee.com, "Events", which
//! names `resource_version` as the order of changes.

use crate::json::{self, Scalar};
use crate::sign::{self, Coverage};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity};

/// Sites of Chargebee.
pub(crate) struct Chargebee;

/// What an event may be about, the broadest first: an invoice or payment of a subscription shares
/// its lane.
const SUBJECTS: [&str; 8] = [
    "subscription",
    "customer",
    "invoice",
    "credit_note",
    "transaction",
    "payment_source",
    "order",
    "quote",
];

impl Provider for Chargebee {
    fn name(&self) -> &'static str {
        "chargebee"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Chargebee",
            proof: "HTTP Basic",
            key: "`/id`",
            entity: "subscription, else customer, invoice ...",
            position: "`resource_version` of it; `/occurred_at` (1 s)",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Seven retries over three and a half days.
        7
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(20_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        sign::basic_fault(secret)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        sign::prove_basic(request, secret)
    }

    /// The key is the event's own id. A retry carries it and says in `/webhook_status` and
    /// `/webhooks` that it is one.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/id", "/event_type", "/occurred_at"])?;
        let [id, kind, at] = json::texts(&fields);
        let subject = SUBJECTS.iter().find_map(|name| {
            let pointers = ["id", "resource_version"].map(|at| format!("/content/{name}/{at}"));
            let pointers = pointers.each_ref().map(String::as_str);
            let [id, version] = json::fields(proved.body(), pointers).ok()?;
            Some((format!("{name}:{}", id?.as_str()), version))
        });
        let (entity, version) = subject.unzip();
        let version = version.flatten();
        Ok(vec![Event {
            key: identity::key(id.unwrap_or_default().as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[entity.as_deref()]),
            position: Position {
                occurred_at_us: at.and_then(|at| time_us(at, Unit::Seconds)),
                sequence: version.as_ref().map(Scalar::as_str).and_then(|n| n.parse().ok()),
            },
            volatile: &["/webhook_status", "/webhooks"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        let basic = sign::basic(secret);
        let headers = [("Content-Type", "application/json"), ("Authorization", &basic)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let subscription = serde_json::json!({ "id": "16BPgETyVrQVHGh1", "object": "subscription",
        "status": "active", "resource_version": draft.now_s.saturating_mul(1000) });
    example::written(serde_json::json!({ "id": draft.key, "occurred_at": draft.now_s,
        "source": "admin_console", "object": "event", "api_version": "v2",
        "event_type": draft.kind, "webhook_status": "scheduled",
        "content": { "subscription": subscription } }))
}

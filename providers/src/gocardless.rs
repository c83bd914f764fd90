//! GoCardless: an HMAC over the raw body, around a batch of at most 250 events. A bad signature is
//! answered 498, which GoCardless shows as a wrong secret.
//!
//! Source: developer.gocardless.com, "Webhooks"; gocardless/gocardless-pro-python.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity, json};

/// Webhook endpoints of a GoCardless creditor or partner.
pub(crate) struct GoCardless;

const TAG: BodyTag = BodyTag::new("webhook-signature", "", Encoding::Hex);

impl Provider for GoCardless {
    fn name(&self) -> &'static str {
        "gocardless"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "GoCardless",
            proof: "HMAC-SHA256 hex",
            key: "`/events/*/id`",
            entity: "the linked resource of its type",
            position: "`/events/*/created_at` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Some eight retries over a day and a half; a retry by hand may follow later.
        7
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn refusal_status(&self) -> u16 {
        498
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is each event's own id: `/meta/webhook_id` names the request, and a retry may
    /// carry the same events in another one.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &json::Item<'_>| {
            let fields =
                json::fields(item.json, ["/id", "/resource_type", "/action", "/created_at"])?;
            let [id, resource, action, at] = json::texts(&fields);
            let resource = resource.unwrap_or_default();
            Ok(Event {
                key: identity::key(id.unwrap_or_default().as_bytes())?,
                kind: identity::kind(&[resource, action.unwrap_or_default()]),
                entity: linked(item.json, resource),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        json::items(proved.body(), "/events")?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/events/0/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

/// What an event is about: of its links the one named like its own resource, as `mandate` for
/// `mandates`; the others say what else took part.
fn linked(event: &[u8], resource: &str) -> Option<String> {
    let name = resource.strip_suffix('s').unwrap_or(resource);
    let [id] = json::fields(event, [&format!("/links/{name}")]).ok()?;
    let id = id.map(|id| format!("{name}:{}", id.as_str()));
    identity::entity(&[Some(id.as_deref().unwrap_or(resource))])
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let (resource, action) = draft.kind.split_once('.').unwrap_or((draft.kind, "created"));
    let link = resource.strip_suffix('s').unwrap_or(resource);
    example::written(serde_json::json!({
        "events": [{
            "id": draft.key, "created_at": example::date(draft.now_s), "resource_type": resource,
            "action": action, "links": { link: "EX000EXAMPLE" }, "metadata": {},
            "details": { "origin": "api", "cause": draft.kind.replace('.', "_") },
        }],
        "meta": { "webhook_id": "WB0EXAMPLE" },
    }))
}

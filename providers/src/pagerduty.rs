//! PagerDuty webhooks (v3): an HMAC over the raw body, several in one header while a secret is
//! replaced. No time is signed, so only the key stops a repeat.
//!
//! Source: developer.pagerduty.com, "Verifying signatures"; PagerDuty/go-pagerduty.

use crate::sign::{self, Encoding, Hash, TagList};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook subscriptions of an account, a service or a team.
pub(crate) struct PagerDuty;

const LIST: TagList = TagList::of("x-pagerduty-signature");

impl Provider for PagerDuty {
    fn name(&self) -> &'static str {
        "pagerduty"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "PagerDuty",
            proof: "HMAC-SHA256 hex",
            key: "`/event/id`",
            entity: "`/event/data/incident/id`, else `/event/data/id`",
            position: "`/event/occurred_at` (1 ms)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-webhook-id", "x-webhook-subscription"]
    }

    fn body_bytes_max(&self) -> usize {
        // PagerDuty's own library reads no more than 2 MB.
        2 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Retried up to ten times over 24 hours.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claims = LIST.tags(request)?;
        let key = secret.expose().as_bytes();
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &claims)
    }

    /// The key is the id of the event. `X-Webhook-Id` is not one: it names the subscription.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/event/id",
            "/event/event_type",
            "/event/occurred_at",
            "/event/data/incident/id",
            "/event/data/id",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, occurred_at, incident, subject] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /event/id"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            // Notes and status updates are of an incident and share its lane.
            entity: identity::entity(&[incident.or(subject)]),
            position: Position::at(occurred_at.and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/pagerduty/incident.json");
        let body = example::filled(draft, text, &[("/event/event_type", draft.kind)]);
        let body = json::with_text(&body, "/event/id", draft.key).unwrap_or(body);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let signature = format!("v1={}", Encoding::Hex.write(&tag));
        let headers =
            [("Content-Type", "application/json"), ("X-PagerDuty-Signature", &*signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

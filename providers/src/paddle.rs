//! Paddle Billing: an HMAC over time and body, joined by a colon; several signatures in one header,
//! split by semicolons, while a secret is rotated. Paddle Classic signs otherwise.
//!
//! Source: developer.paddle.com, "Verify webhook signatures"; paddle-node-sdk, paddle-python-sdk.
//! Their tolerance is 5 seconds, less than many clocks keep; here it is the source's own.

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Notification destinations of Paddle Billing.
pub(crate) struct Paddle;

const LIST: TagList =
    TagList { separator: b';', time: "ts=", tag: "h1=", ..TagList::of("paddle-signature") };

impl Provider for Paddle {
    fn name(&self) -> &'static str {
        "paddle"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Paddle Billing",
            proof: "HMAC-SHA256 hex over time and body",
            key: "`/event_id`",
            entity: "`/data/id`",
            position: "`/occurred_at` (1 us)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 3 days; notifications of the last 90 can be replayed.
        90
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Seconds)?;
        let parts = [time, b":", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window)
    }

    /// The key is the event id: a replay has a new `/notification_id` for the same event.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = ["/event_id", "/event_type", "/data/id", "/occurred_at"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, entity, at] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::key(id.unwrap_or_default().as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[entity]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &["/notification_id"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!({ "event_id": draft.key, "event_type": draft.kind,
                "occurred_at": example::date(draft.now_s), "notification_id": "ntf_01example",
                "data": { "id": "sub_01example", "status": "active" } }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let body = json::with_text(&body, "/event_id", draft.key).unwrap_or(body);
        let time = draft.now_s.to_string();
        let parts = [time.as_bytes(), b":", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("ts={time};h1={}", Encoding::Hex.write(&tag));
        let headers = [("Content-Type", "application/json"), ("Paddle-Signature", &signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

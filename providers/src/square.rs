//! Square: an HMAC over the notification URL and the raw body, one after the other. The URL is the
//! one registered, to the letter. No time is signed.
//!
//! Source: developer.squareup.com/docs/webhooks/step3validate; square-nodejs-sdk and
//! square-python-sdk, webhooks helper.

use serde_json::json;

use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Webhook subscriptions of a Square application.
pub(crate) struct Square;

const SIGNATURE: &str = "x-square-hmacsha256-signature";

impl Provider for Square {
    fn name(&self) -> &'static str {
        "square"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Square",
            proof: "HMAC-SHA256 base64 over URL and body",
            key: "`/event_id`",
            entity: "`/merchant_id` and `/data/id`",
            position: "version and `updated_at` of the object, `/created_at`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["square-environment", "square-retry-number", "square-retry-reason"]
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 24 hours; the Events API hands out events of the last 28 days.
        35
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Base64)?;
        let parts = [request.url.as_bytes(), request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &[claim])
    }

    /// The key is the event's id, the same on every retry.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/event_id", "/type", "/merchant_id", "/data/id", "/created_at", "/data/type"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, merchant, about, created, object] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /event_id"))?;
        // The object stands under the name of its type.
        let object = object.unwrap_or_default().replace('~', "~0").replace('/', "~1");
        let [version, updated] =
            ["version", "updated_at"].map(|name| format!("/data/object/{object}/{name}"));
        let inner = json::fields(proved.body(), [&*version, &*updated])?;
        let [version, updated] = json::texts(&inner);
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[merchant, about]),
            position: Position {
                occurred_at_us: updated.or(created).and_then(|at| time_us(at, Unit::Seconds)),
                sequence: version.and_then(|version| version.parse().ok()),
            },
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let made = json!({ "merchant_id": "EXAMPLE", "type": draft.kind,
            "created_at": "2026-01-01T00:00:00.000000000Z",
            "data": { "type": "payment", "id": "example", "object": { "payment": {
                "id": "example", "status": "APPROVED", "version": 1 } } } });
        let body = draft.body.map_or_else(|| example::written(made), <[u8]>::to_vec);
        let body = json::with_text(&body, "/event_id", draft.key).unwrap_or(body);
        let parts = [draft.url.as_bytes(), &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = Encoding::Base64.write(&tag);
        let headers = [("Content-Type", "application/json"), (SIGNATURE, &signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

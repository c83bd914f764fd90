//! Coinbase Commerce: an HMAC over the raw body. The webhooks of Coinbase's developer platform
//! (`X-Hook0-Signature`) are another scheme.
//!
//! Source: docs.cdp.coinbase.com, "Commerce webhooks"; coinbase/coinbase-commerce-node.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook subscriptions of Coinbase Commerce.
pub(crate) struct CoinbaseCommerce;

const TAG: BodyTag = BodyTag::new("x-cc-webhook-signature", "", Encoding::Hex);

#[rustfmt::skip]
const FIELDS: [&str; 5] = [
    "/event/id", "/event/type", "/event/data/code", "/event/data/id", "/event/created_at",
];

impl Provider for CoinbaseCommerce {
    fn name(&self) -> &'static str {
        "coinbase_commerce"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Coinbase Commerce",
            proof: "HMAC-SHA256 hex",
            key: "`/event/id`",
            entity: "`/event/data/code`, else its `id`",
            position: "`/event/created_at` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 3 days.
        7
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the inner id. The envelope's `/id`, its number and its schedule are those of the
    /// attempt.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), FIELDS)?;
        let [id, kind, code, object, at] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::key(id.unwrap_or_default().as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[code.or(object)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &["/id", "/scheduled_for", "/attempt_number"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let at = example::date(draft.now_s);
            let event = serde_json::json!({ "id": draft.key, "type": draft.kind, "created_at": at,
                "api_version": "2018-03-22", "data": { "code": "66BEOV2A",
                    "timeline": [{ "time": at, "status": "NEW" }] } });
            example::written(serde_json::json!({ "id": 1, "attempt_number": 1,
                "scheduled_for": at, "event": event }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let body = json::with_text(&body, "/event/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

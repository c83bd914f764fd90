//! Razorpay: an HMAC over the raw body. After a secret is changed, retries of older events keep
//! the old one for a day: both must be listed that long.
//!
//! Source: razorpay.com/docs/webhooks; razorpay/razorpay-python.

use crate::body_tag::BodyTag;
use crate::json::{self, Scalar};
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity};

/// Webhooks of a Razorpay account.
pub(crate) struct Razorpay;

const TAG: BodyTag = BodyTag::new("x-razorpay-signature", "", Encoding::Hex);
const ID: &str = "x-razorpay-event-id";

impl Provider for Razorpay {
    fn name(&self) -> &'static str {
        "razorpay"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Razorpay",
            proof: "HMAC-SHA256 hex",
            key: "`X-Razorpay-Event-Id`",
            entity: "the event's own payment, order, subscription ...",
            position: "`/created_at` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[ID]
    }

    fn horizon_days(&self) -> u32 {
        // Retried for a day.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the event id of the header, equal over retries; the body has none.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let fields = json::fields(request.body, ["/event", "/contains/0", "/created_at"])?;
        let [kind, contained, at] = json::texts(&fields);
        let kind = kind.unwrap_or_default();
        Ok(vec![Event {
            key: identity::header_key(request, ID)?,
            kind: identity::kind(&[kind]),
            entity: kind
                .split('.')
                .next()
                .and_then(|name| subject(request.body, name))
                .or_else(|| subject(request.body, contained?)),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        TAG.sign(secret.expose().as_bytes(), body, &[("X-Razorpay-Event-Id", draft.key)])
    }
}

/// The thing of one name in the payload: `order.paid` carries a payment as well as its order.
fn subject(body: &[u8], name: &str) -> Option<String> {
    let [id] = json::fields(body, [&format!("/payload/{name}/entity/id")]).ok()?;
    let id = format!("{name}:{}", id.as_ref().map(Scalar::as_str)?);
    identity::entity(&[Some(&id)])
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let name = draft.kind.split('.').next().unwrap_or_default();
    let entity = serde_json::json!({ "id": "pay_6koWN7bvxujzxM", "entity": name,
        "amount": 1_000_000, "currency": "INR", "created_at": draft.now_s });
    example::written(serde_json::json!({ "event": draft.kind, "entity": "event",
        "account_id": "acc_Example0000001", "contains": [name], "created_at": draft.now_s,
        "payload": { name: { "entity": entity } } }))
}

//! Lemon Squeezy: an HMAC-SHA256 over the raw body. No time is signed, and there is no id.
//!
//! Source: docs.lemonsqueezy.com, "Webhook Requests" and "Signing Requests".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Reply, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity, json};

/// Webhooks of a Lemon Squeezy store.
pub(crate) struct LemonSqueezy;

const TAG: BodyTag = BodyTag::new("x-signature", "", Encoding::Hex);

impl Provider for LemonSqueezy {
    fn name(&self) -> &'static str {
        "lemon_squeezy"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Lemon Squeezy",
            proof: "HMAC-SHA256 hex",
            key: "a digest of the body",
            entity: "`/data` type and id",
            position: "`/data/attributes/updated_at`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-event-name"]
    }

    fn horizon_days(&self) -> u32 {
        // Three retries within minutes; the dashboard sends any of the recent ones again.
        7
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// There is no id: `/meta/webhook_id` is the webhook's, and `/data/id` that of an order through
    /// all its events. The body names the event and the moment of the last change.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/meta/event_name", "/data/type", "/data/id", "/data/attributes/updated_at"];
        let fields = json::fields(proved.body(), pointers)?;
        let [kind, what, id, updated_at] = json::texts(&fields);
        let header = identity::header_text(proved.request(), "x-event-name");
        Ok(vec![Event {
            key: identity::content_digest(&[], proved.body(), &[]),
            kind: identity::kind(&[kind.unwrap_or(&header)]),
            entity: identity::entity(&[what, id]),
            position: Position::at(updated_at.and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    /// Anything but 200 is sent again.
    fn accepted(&self) -> Option<Reply> {
        Some(Reply::empty(200))
    }

    /// The key asked for becomes the id of the order, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/lemon_squeezy/order.json");
        let body = example::filled(draft, text, &[("/meta/event_name", draft.kind)]);
        let body = json::with_text(&body, "/data/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[("X-Event-Name", draft.kind)])
    }
}

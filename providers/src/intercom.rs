//! Intercom: an HMAC with SHA-1 over the raw body, which is all it offers. When a URL is saved,
//! Intercom asks for it by HEAD.
//!
//! Source: developers.intercom.com, "Webhook notifications" and "Setting up webhooks".

use crate::body_tag::BodyTag;
use crate::sign::{Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Reply,
    Request, Secret, Signed, Verified, Window,
};
use crate::{example, identity, json};

/// Apps of an Intercom workspace; the secret is the client secret of the app.
pub(crate) struct Intercom;

const TAG: BodyTag = BodyTag::new("x-hub-signature", "sha1=", Encoding::Hex).with(Hash::Sha1);

/// What counts the attempts. It differs between them.
const VOLATILE: &[&str] =
    &["/delivery_attempts", "/delivery_status", "/delivered_at", "/first_sent_at"];

impl Provider for Intercom {
    fn name(&self) -> &'static str {
        "intercom"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Intercom",
            proof: "HMAC-SHA1 hex",
            key: "`/id`, else a digest",
            entity: "type and `/data/item/id`",
            position: "`/data/item/updated_at`, else `/created_at` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried once, after a minute; older events are caught up with for 2 hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        if request.method == "HEAD" { Handshake::answer(Reply::empty(200)) } else { None }
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the notification. Old versions send null for it: then the content
    /// stands for it, without what counts the attempts.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/id",
            "/topic",
            "/created_at",
            "/data/item/type",
            "/data/item/id",
            "/data/item/updated_at",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, topic, created_at, item, item_id, updated_at] = json::texts(&fields);
        let key = match id {
            Some(id) => identity::key(id.as_bytes())?,
            None => identity::content_digest(&[], proved.body(), VOLATILE),
        };
        let item_id = item_id.map(|id| format!("{}:{id}", item.unwrap_or("item")));
        let at = updated_at.or(created_at).and_then(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[topic.unwrap_or_default()]),
            entity: identity::entity(&[item_id.as_deref()]),
            position: Position::at(at),
            volatile: VOLATILE,
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/intercom/conversation.json");
        let body = example::filled(draft, text, &[("/topic", draft.kind)]);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

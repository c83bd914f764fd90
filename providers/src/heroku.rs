//! Heroku app webhooks: an HMAC over the raw body, in base64. The `Authorization` that a webhook
//! may be given is not looked at. No time is signed, so only the key stops a repeat.
//!
//! Source: devcenter.heroku.com, "App webhooks" and "App webhooks schema".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of an app or an add-on.
pub(crate) struct Heroku;

const TAG: BodyTag = BodyTag::new("heroku-webhook-hmac-sha256", "", Encoding::Base64);

impl Provider for Heroku {
    fn name(&self) -> &'static str {
        "heroku"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Heroku",
            proof: "HMAC-SHA256 base64",
            key: "`/webhook_metadata/delivery/id`",
            entity: "resource and `/data/id`",
            position: "`/sequence`, `/created_at` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // At the level `sync` retried for up to 72 hours.
        5
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the delivery, which stays while the attempt beside it changes; two
    /// webhooks have two deliveries of one event.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/webhook_metadata/delivery/id",
            "/id",
            "/webhook_metadata/event/include",
            "/resource",
            "/action",
            "/data/id",
            "/sequence",
            "/created_at",
            "/published_at",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [delivery, id, include, resource, action, data, sequence, created_at, published_at] =
            json::texts(&fields);
        let id = delivery.or(id).ok_or(Rejection::Unreadable("the body has no delivery id"))?;
        let data = data.map(|id| format!("{}:{id}", resource.unwrap_or("data")));
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[
                include.or(resource).unwrap_or_default(),
                action.unwrap_or_default(),
            ]),
            entity: identity::entity(&[data.as_deref()]),
            position: Position {
                occurred_at_us: created_at.or(published_at).and_then(date_us),
                sequence: sequence.and_then(|number| number.parse().ok()),
            },
            volatile: &["/webhook_metadata/attempt"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (include, action) = draft.kind.split_once('.').unwrap_or((draft.kind, "update"));
        let text = include_str!("../bodies/heroku/release.json");
        let texts = [("/webhook_metadata/event/include", include), ("/action", action)];
        let body = example::filled(draft, text, &texts);
        let place = "/webhook_metadata/delivery/id";
        let body = json::with_text(&body, place, draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

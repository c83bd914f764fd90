//! Typeform: an HMAC over the raw body, in base64 behind `sha256=`. No time is signed, so only the
//! key stops a repeat.
//!
//! Source: typeform.com/developers/webhooks, "Secure your webhooks" and "Example payload".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Forms of Typeform.
pub(crate) struct Typeform;

const TAG: BodyTag = BodyTag::new("typeform-signature", "sha256=", Encoding::Base64);

impl Provider for Typeform {
    fn name(&self) -> &'static str {
        "typeform"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Typeform",
            proof: "HMAC-SHA256 base64",
            key: "`/event_id`",
            entity: "`/form_response/token`",
            position: "`/form_response/submitted_at` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 10 hours after a 429, 408, 503 or 423, more shortly after other errors.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the event, which every retry carries. The token names the response,
    /// of which there may be a partial and a final event.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/event_id", "/event_type", "/form_response/token", "/form_response/submitted_at"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, token, submitted_at] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /event_id"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[token]),
            position: Position::at(submitted_at.and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/typeform/form_response.json");
        let body = example::filled(draft, text, &[("/event_type", draft.kind)]);
        let body = json::with_text(&body, "/event_id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

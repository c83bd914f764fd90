//! Tally forms: an HMAC-SHA256 over the raw body, in base64. No time is signed.
//!
//! Source: tally.so/help/webhooks.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of forms that have a signing secret.
pub(crate) struct Tally;

const TAG: BodyTag = BodyTag::new("tally-signature", "", Encoding::Base64);

impl Provider for Tally {
    fn name(&self) -> &'static str {
        "tally"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Tally",
            proof: "HMAC-SHA256 base64",
            key: "`/eventId`",
            entity: "form and response",
            position: "`/createdAt` (1 ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried after 5 and 30 minutes, 1 and 6 hours and a day; the log sends any again.
        7
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the event. That of the response is not one: it stays when the response
    /// is changed, and respondents have an id of their own.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = ["/eventId", "/eventType", "/createdAt", "/data/formId", "/data/responseId"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, created_at, form, response] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /eventId"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[form, response]),
            position: Position::at(created_at.and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/tally/form_response.json");
        let body = example::filled(draft, text, &[("/eventType", draft.kind)]);
        let body = json::with_text(&body, "/eventId", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

//! Gitea, Forgejo and Gogs: an HMAC over the JSON of the event, not over the request. In a JSON
//! body the two are the same; a form carries that JSON in its `payload` field, and Gitea can even
//! put it into the query of a GET. A hook without a secret sends the signature header empty.
//!
//! Source: go-gitea/gitea, services/webhook/deliver.go; gogs/gogs, internal/database/webhook.go;
//! forgejo.org/docs, "Webhooks".

mod family;
mod subject;

use std::borrow::Cow;

use self::subject::subject;
use crate::sign::{self, Encoding, Hash};
use crate::text::{form_fields, is_media_type};
use crate::{
    Draft, Event, Facts, Part, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity};
pub(crate) use family::{FORGEJO, Forge, GITEA, GOGS};

/// The JSON that is signed. All that is read is inside it, so nothing else may be there: a form
/// has that one field, and a GET has no body.
fn payload<'r>(request: &Request<'r>) -> Result<Cow<'r, [u8]>, Rejection> {
    if request.method == "GET" {
        return match request.body.is_empty() {
            true => request.query_field("payload"),
            false => return Err(Rejection::ProofMalformed("a GET has its payload in the query")),
        }
        .ok_or(Rejection::ProofMissing("the query has no payload"));
    }
    let media_type = request.header("content-type").unwrap_or_default();
    if !is_media_type(media_type, "application/x-www-form-urlencoded") {
        return Ok(Cow::Borrowed(request.body));
    }
    let mut fields = form_fields(request.body);
    match (fields.next(), fields.next()) {
        (Some((name, payload)), None) if *name == *b"payload" => Ok(payload),
        _ => Err(Rejection::ProofMalformed("the form is not one payload")),
    }
}

impl Provider for Forge {
    fn name(&self) -> &'static str {
        self.name
    }

    fn facts(&self) -> Facts {
        self.facts
    }

    fn forwarded(&self) -> &'static [&'static str] {
        self.forwarded
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried by itself; the page of a hook sends again whatever it still shows.
        35
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(self.answer_deadline_ms)
    }

    fn delivers_by_get(&self) -> Option<&'static str> {
        self.gets.then_some(self.signature)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = sign::claimed(request, self.signature, "", Encoding::Hex)?;
        let (key, payload) = (secret.expose().as_bytes(), payload(request)?);
        sign::prove_hmac_decoded(request, Hash::Sha256, key, &[&payload], &[claim])
    }

    /// The key is the UUID of the delivery. Gitea and Forgejo make a new one when somebody sends
    /// a delivery again by hand, so that it is run again; Gogs keeps it.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let payload =
            payload(request).map_err(|_| Rejection::Unreadable("the event is not one payload"))?;
        let name = identity::header_text(request, self.event);
        let subject = subject(&payload);
        Ok(vec![Event {
            key: identity::header_key(request, self.delivery)?,
            kind: identity::kind(&[&name, &subject.action]),
            entity: subject.entity,
            position: subject.position,
            volatile: &[],
            // The body of a GET is empty, and its query is not kept.
            part: (request.method == "GET").then(|| Part::Bytes(payload.into_owned())),
        }])
    }

    /// One request is one event, so that there is nothing to keep together.
    fn whole(&self, proved: &Proved<'_>) -> Result<Option<Event>, Rejection> {
        Ok(self.events(proved)?.pop())
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (event, action) = draft.kind.split_once('.').unwrap_or((draft.kind, ""));
        let text = match event {
            "issues" => include_str!("../bodies/gitea/issues.json"),
            "pull_request" => include_str!("../bodies/gitea/pull_request.json"),
            _ => include_str!("../bodies/gitea/push.json"),
        };
        let action = (!action.is_empty()).then_some(("/action", action));
        let body = example::filled(draft, text, action.as_slice());
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let headers = [
            ("Content-Type", "application/json"),
            (self.event, event),
            (self.delivery, draft.key),
            (self.signature, &Encoding::Hex.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

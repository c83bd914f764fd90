//! Mailgun: an HMAC over a time and a random token, both in the body beside their signature, as
//! JSON or as a form. The event itself is not covered: whoever saw one signature can put it on
//! other content, so only the token is trusted. `verify` reads those fields of the body only.
//!
//! Source: documentation.mailgun.com, "Securing webhooks"; anymail/django-anymail.

mod fields;

use self::fields::{FIELDS, fields, sample};
use crate::sign::{self, Coverage, Encoding, Hash, Stamp};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Webhooks and routes of a Mailgun account. Routes with attachments come as multipart, which is
/// not read.
pub(crate) struct Mailgun;

/// Retries go on for 8 hours and carry the signature that was made at first. The token, used up
/// once, keeps a recorded request from counting twice.
const RETRIES_S: i64 = 12 * 3600;

impl Provider for Mailgun {
    fn name(&self) -> &'static str {
        "mailgun"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Mailgun",
            proof: "HMAC-SHA256 hex over time and token, in the body",
            key: "`/signature/token`",
            entity: "message id and recipient",
            position: "`/event-data/timestamp`",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 8 hours.
        2
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let [time, token, signature, parent, ..] = fields(request.body);
        let missing = Rejection::ProofMissing("the body has no timestamp, token and signature");
        let (Some(time), Some(token), Some(signature)) = (time, token, signature) else {
            return Err(missing);
        };
        if token.is_empty() {
            return Err(missing);
        }
        let stamp = Stamp::within_proof(time.as_bytes(), Unit::Seconds)?;
        // Events of a subaccount are signed with the key of the account above it as well.
        let written = [Some(signature), parent].into_iter().flatten();
        let claims = written.filter_map(|text| Encoding::Hex.read(text.as_bytes()));
        let claims: Vec<Vec<u8>> = claims.filter(|claim| !claim.is_empty()).collect();
        if claims.is_empty() {
            return Err(Rejection::ProofMalformed("the signature is not hexadecimal"));
        }
        let parts = [time.as_bytes(), token.as_bytes()];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window.at_least(RETRIES_S))
    }

    /// The key is the signed token. The event's own id is not covered: under it, one signature
    /// would do for any number of made-up events. A retry carries the token again.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let [_, token, _, _, kind, message, recipient, at] = fields(proved.body());
        let token = token.ok_or(Rejection::Unreadable("the body has no token"))?;
        Ok(vec![Event {
            key: identity::key(token.as_bytes())?,
            kind: identity::kind(&[&kind.unwrap_or_default()]),
            entity: match message.as_deref() {
                Some(message) => identity::entity(&[Some(message), recipient.as_deref()]),
                None => identity::entity(&[recipient.as_deref()]),
            },
            position: Position::at(at.and_then(|at| time_us(&at, Unit::Seconds))),
            volatile: &["/signature"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let time = draft.now_s.to_string();
        let parts = [time.as_bytes(), draft.key.as_bytes()];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let mut body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let signature = Encoding::Hex.write(&tag);
        for (index, text) in [(0, time.as_str()), (1, draft.key), (2, &signature)] {
            body = json::with_text(&body, FIELDS[index].0, text)?;
        }
        let headers = example::headers(&[("Content-Type", "application/json")]);
        Some(Signed { headers, body })
    }
}

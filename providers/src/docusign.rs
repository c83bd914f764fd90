//! DocuSign Connect: an HMAC over the raw body for every key of the account, each in a numbered
//! header, so that keys can be replaced one by one.
//!
//! Source: developers.docusign.com, "Secure your webhook with HMAC" and "JSON SIM event model".

use crate::body_tag::BodyTag;
use crate::sign::{self, Encoding, Hash};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Connect configurations of an account, JSON (SIM) or, by content alone, the older XML.
pub(crate) struct DocuSign;

/// The first of the numbered headers, and what they all begin with.
const SIGNATURE: &str = "x-docusign-signature-1";
const NUMBERED: &str = "x-docusign-signature-";
/// Keys that an account can have.
const KEYS_MAX: usize = 100;

/// It counts the attempts.
const VOLATILE: &[&str] = &["/retryCount"];

impl Provider for DocuSign {
    fn name(&self) -> &'static str {
        "docusign"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "DocuSign Connect",
            proof: "HMAC-SHA256 base64 in numbered headers",
            key: "digest of event, its time, envelope and recipient",
            entity: "`/data/envelopeId`",
            position: "`/generatedDateTime` (100 ns)",
        }
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; a configuration may include the documents themselves.
        25 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Retried, and sent again by hand, for 15 days.
        20
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(100_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let (key, claims) = (secret.expose().as_bytes(), claims(request)?);
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &claims)
    }

    /// There is no id. What the event names stays equal over its retries; two configurations may
    /// send it to one URL, and are told apart.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/event",
            "/generatedDateTime",
            "/data/envelopeId",
            "/data/recipientId",
            "/configurationId",
        ];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [kind, at, envelope, recipient, configuration] = json::texts(&fields);
        let named = kind.is_some() && at.is_some() && envelope.is_some();
        let parts = [kind, at, envelope, recipient, configuration];
        let key = match named {
            true => identity::digest(&parts.map(|part| part.unwrap_or_default().as_bytes())),
            false => identity::content_digest(&[], proved.body(), VOLATILE),
        };
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[envelope]),
            position: Position::at(at.and_then(date_us)),
            volatile: VOLATILE,
            part: None,
        }])
    }

    /// The key asked for becomes the id of the envelope, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/docusign/envelope.json");
        let body = example::filled(draft, text, &[("/event", draft.kind)]);
        let body = json::with_text(&body, "/data/envelopeId", draft.key).unwrap_or(body);
        let others = [("X-Authorization-Digest", "HMACSHA256")];
        let tag = BodyTag::new(SIGNATURE, "", Encoding::Base64);
        tag.sign(secret.expose().as_bytes(), body, &others)
    }
}

/// The signatures of all numbered headers, each of which may appear once.
fn claims(request: &Request<'_>) -> Result<Vec<Vec<u8>>, Rejection> {
    let (mut numbers, mut claims) = (Vec::new(), Vec::new());
    for (name, value) in request.headers {
        let Some(number) = name.strip_prefix(NUMBERED) else { continue };
        if numbers.contains(&number) {
            return Err(Rejection::HeaderRepeated(SIGNATURE));
        }
        if numbers.len() == KEYS_MAX {
            return Err(Rejection::HeaderMalformed(SIGNATURE, "there are more than 100 of them"));
        }
        numbers.push(number);
        claims.extend(Encoding::Base64.read(value).filter(|claim| !claim.is_empty()));
    }
    match claims.is_empty() {
        true => Err(Rejection::HeaderMissing(SIGNATURE)),
        false => Ok(claims),
    }
}

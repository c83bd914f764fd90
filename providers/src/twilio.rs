//! Twilio: an HMAC-SHA1 over the public URL and the fields of the form, by name. A JSON body is
//! bound by its SHA-256 in the URL's `bodySHA256`, so there the URL is all that is signed. No time.
//!
//! Source: twilio.com/docs/usage/webhooks/webhooks-security; twilio-python, twilio-node, twilio-go.

mod event;
mod url;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use self::event::{FACTS, form_event, stream_events};
use crate::sign::{self, Encoding, Hash};
use crate::text::form_fields;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
    example, json,
};

/// Calls, messages and Event Streams of a Twilio account.
pub(crate) struct Twilio;

const SIGNATURE: &str = "x-twilio-signature";

/// The fields as they are signed: by name, the values of one name sorted and without repeats.
fn signed_fields(body: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let mut fields = BTreeMap::<_, BTreeSet<_>>::new();
    for (name, value) in form_fields(body) {
        fields.entry(name).or_default().insert(value);
    }
    let pairs = fields
        .into_iter()
        .flat_map(|(name, values)| values.into_iter().flat_map(move |value| [name.clone(), value]));
    pairs.collect()
}

impl Provider for Twilio {
    fn name(&self) -> &'static str {
        "twilio"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn horizon_days(&self) -> u32 {
        // One retry of a broken connection; Event Streams go on for 4 hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(15_000)
    }

    fn delivers_by_get(&self) -> Option<&'static str> {
        Some(SIGNATURE)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claims = [sign::claimed(request, SIGNATURE, "", Encoding::Base64)?];
        let key = secret.expose().as_bytes();
        let digest = request.query_field("bodySHA256");
        let fields = if digest.is_none() { signed_fields(request.body) } else { Vec::new() };
        let mut outcome = Err(Rejection::SignatureMismatch);
        for url in url::candidates(request.url) {
            let mut parts = vec![url.as_bytes()];
            parts.extend(fields.iter().map(|part| &**part));
            outcome = match &digest {
                Some(digest) => sign::prove_hmac(request, Hash::Sha1, key, &parts, &claims)
                    .and_then(|proved| proved.with_body_digest(digest)),
                None => sign::prove_hmac_decoded(request, Hash::Sha1, key, &parts, &claims),
            };
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        match json::fields(proved.body(), []) {
            Ok([]) => stream_events(proved),
            Err(_) => form_event(proved.request()),
        }
    }

    /// A form, as a JSON body would need its digest in the URL.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (about, status) = draft.kind.split_once('.').unwrap_or(("message", draft.kind));
        let about = if about == "call" { "Call" } else { "Message" };
        let made = format!(
            "{about}Sid=SM00000000000000000000000000000001&{about}Status={status}\
             &AccountSid=AC00000000000000000000000000000001&From=%2B15005550006&To=%2B15005550009"
        );
        let body = draft.body.map_or_else(|| made.into_bytes(), <[u8]>::to_vec);
        let mut parts = vec![Cow::Borrowed(draft.url.as_bytes())];
        parts.extend(signed_fields(&body));
        let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
        let tag = sign::hmac(Hash::Sha1, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("I-Twilio-Idempotency-Token", draft.key),
            ("X-Twilio-Signature", &Encoding::Base64.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Braintree: an HMAC-SHA1 over a payload of base64, both in fields of a form. The key is the SHA-1
//! of the private key; the public key chooses among several signatures. The payload is XML.
//!
//! Source: developer.paypal.com/braintree, "Webhooks: parse"; braintree_python,
//! webhook_notification.

mod notification;

use std::borrow::Cow;

use sha1::{Digest, Sha1};

use self::notification::{FACTS, event, sample};
use crate::sign::{self, Encoding, Hash};
use crate::text::{form_escaped, form_field};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Proved, Provider, Rejection, Reply, Request,
    Secret, Signed, Verified, Window, example,
};

/// Webhooks of a Braintree gateway.
pub(crate) struct Braintree;

/// The public key and the key of the HMAC, out of a secret `public_key:private_key`.
fn keys(secret: &Secret) -> Result<(&str, [u8; 20]), Rejection> {
    match secret.expose().split_once(':') {
        Some((public, private)) if !public.is_empty() && !private.is_empty() => {
            Ok((public, Sha1::digest(private.as_bytes()).into()))
        }
        _ => Err(Rejection::SecretUnusable("it is not of the form public_key:private_key")),
    }
}

/// Challenges are signed with the very key of the payloads, for whoever asks. So they must be of
/// this form, and no payload may be: else the answer to a challenge would be a forged signature.
fn is_challenge(text: &[u8]) -> bool {
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    (20..=32).contains(&text.len()) && text.iter().all(hex)
}

/// The XML of a body of one's own: it may stand in the form already.
fn unwrapped(body: &[u8]) -> Cow<'_, [u8]> {
    let payload = form_field(body, "bt_payload");
    let xml = payload.and_then(|payload| Encoding::Base64.read(payload.trim_ascii_end()));
    xml.map_or(Cow::Borrowed(body), Cow::Owned)
}

impl Provider for Braintree {
    fn name(&self) -> &'static str {
        "braintree"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn horizon_days(&self) -> u32 {
        // Retried every hour for 24 hours.
        3
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        keys(secret).is_err().then(|| "is not of the form public_key:private_key".to_owned())
    }

    /// The URL is looked at with GET and a challenge that wants to be signed.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        let challenge = request.query_field("bt_challenge").filter(|text| is_challenge(text))?;
        let (public, key) = keys(at.secrets.first().filter(|_| request.method == "GET")?).ok()?;
        let tag = Encoding::Hex.write(&sign::hmac(Hash::Sha1, &key, &[&challenge])?);
        Handshake::answer(Reply::text(200, format!("{public}|{tag}")))
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let field = |name| form_field(request.body, name).filter(|text| !text.is_empty());
        let (Some(signatures), Some(payload)) = (field("bt_signature"), field("bt_payload")) else {
            return Err(Rejection::ProofMissing("the form has no bt_signature and bt_payload"));
        };
        let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(byte);
        if is_challenge(&payload) || !payload.iter().all(base64) {
            return Err(Rejection::ProofMalformed("the payload is not base64"));
        }
        let (public, key) = keys(secret)?;
        let claim = |pair: &[u8]| {
            let claim = pair.strip_prefix(public.as_bytes())?.strip_prefix(b"|")?;
            Encoding::Hex.read(claim).filter(|claim| !claim.is_empty())
        };
        let claims: Vec<Vec<u8>> = signatures.split(|b| *b == b'&').filter_map(claim).collect();
        if claims.is_empty() {
            return Err(Rejection::ProofMalformed("no signature is of this public key"));
        }
        // The line end that base64 closes with is signed, and is lost on the way to some.
        let tail: [&[u8]; 2] = [b"", b"\n"];
        let prove =
            |end| sign::prove_hmac_decoded(request, Hash::Sha1, &key, &[&payload, end], &claims);
        prove(tail[0]).or_else(|_| prove(tail[1]))
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let payload = form_field(proved.body(), "bt_payload").unwrap_or_default();
        let lines = payload.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
        let xml = Encoding::Base64.read(&lines.collect::<Vec<u8>>());
        Ok(vec![event(&xml.ok_or(Rejection::Unreadable("the payload is not base64"))?)?])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (public, key) = keys(secret).ok()?;
        let xml = draft.body.map_or_else(|| Cow::Owned(sample(draft)), unwrapped);
        let payload = Encoding::Base64.write(&xml) + "\n";
        let tag = Encoding::Hex.write(&sign::hmac(Hash::Sha1, &key, &[payload.as_bytes()])?);
        let [payload, signature] = [payload, format!("{public}|{tag}")]
            .map(|text| String::from_utf8_lossy(&form_escaped(text.as_bytes())).into_owned());
        let body = format!("bt_signature={signature}&bt_payload={payload}").into_bytes();
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

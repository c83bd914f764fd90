//! Contentful: an HMAC over method, path, the headers that a header lists, and the body, each on
//! a line of its own. The list and the time must be among the headers it lists.
//!
//! Source: contentful.com/developers/docs, "Request verification"; contentful/node-apps-toolkit.

mod entry;

use self::entry::{FACTS, entry, sample};
use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::Unit;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
    example,
};

/// Webhooks of a Contentful space with request verification.
pub(crate) struct Contentful;

const SIGNATURE: &str = "x-contentful-signature";
const LIST: &str = "x-contentful-signed-headers";
const TIME: &str = "x-contentful-timestamp";
const TOPIC: &str = "x-contentful-topic";

/// All that is signed before the body.
fn signed_head(request: &Request<'_>) -> Result<Vec<u8>, Rejection> {
    let fault = |fault| Rejection::HeaderMalformed(LIST, fault);
    let list = std::str::from_utf8(request.header(LIST)?).map_err(|_| fault("it is not text"))?;
    let mut names: Vec<String> =
        list.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    names.sort_unstable();
    if ![LIST, TIME].iter().all(|name| names.iter().any(|listed| listed == name)) {
        return Err(fault("it must list itself and the time"));
    }
    let mut head = format!("{}\n{}\n", request.method, request.target()).into_bytes();
    for (index, name) in names.iter().enumerate() {
        let mut lines = request.headers.iter().filter(|(candidate, _)| candidate == name);
        let (Some((_, value)), None) = (lines.next(), lines.next()) else {
            return Err(fault("a header that it lists is absent or repeated"));
        };
        if index > 0 {
            head.push(b';');
        }
        head.extend_from_slice(&[name.as_bytes(), b":", value.trim_ascii()].concat());
    }
    head.push(b'\n');
    Ok(head)
}

impl Provider for Contentful {
    fn name(&self) -> &'static str {
        "contentful"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[TOPIC, "x-contentful-webhook-name", "x-contentful-webhook-request-attempt"]
    }

    fn horizon_days(&self) -> u32 {
        // Two more tries within two minutes.
        1
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let is_whole = secret.expose().len() == 64;
        (!is_whole).then(|| "is not a signing secret of 64 characters".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Hex)?;
        let stamp = Stamp::read(TIME, request.header(TIME)?, Unit::Millis)?;
        let head = signed_head(request)?;
        let parts = [&*head, request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &[claim])?
            .within(stamp, window)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        Ok(vec![entry(proved.request())?])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let list = [LIST, TIME, TOPIC].join(",");
        let headers = [(LIST, list.as_str()), (TIME, &time), (TOPIC, draft.kind)];
        let bytes = headers.map(|(name, value)| (name, value.as_bytes()));
        let (method, url) = ("POST", draft.url);
        let head = signed_head(&Request { method, url, headers: &bytes, body: &body }).ok()?;
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&head, &body])?;
        let mut headers = example::headers(&headers);
        headers.push((SIGNATURE.to_owned(), Encoding::Hex.write(&tag)));
        headers.push(("Content-Type".to_owned(), entry::MEDIA_TYPE.to_owned()));
        Some(Signed { headers, body })
    }
}

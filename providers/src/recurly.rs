//! Recurly: an HMAC over time and body; the header is the time in milliseconds and then one or
//! more signatures, several while a key is rotated. Bodies are JSON or, from older endpoints, XML.
//!
//! Source: docs.recurly.com, "Webhooks"; recurly/recurly-client-ruby.

mod xml;

use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook endpoints of a Recurly site.
pub(crate) struct Recurly;

const HEADER: &str = "recurly-signature";

#[rustfmt::skip]
const FIELDS: [&str; 6] =
    ["/object_type", "/event_type", "/account_code", "/uuid", "/id", "/event_time"];

impl Provider for Recurly {
    fn name(&self) -> &'static str {
        "recurly"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Recurly",
            proof: "HMAC-SHA256 hex over time and body",
            key: "a digest of the body",
            entity: "account, else object",
            position: "`/event_time` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Ten retries over nine hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let mut entries = request.header(HEADER)?.split(|byte| *byte == b',');
        let time = entries.next().unwrap_or_default();
        let stamp = Stamp::read(HEADER, time, Unit::Millis)?;
        let claims: Vec<Vec<u8>> = entries
            .filter_map(|entry| Encoding::Hex.read(entry))
            .filter(|claim| !claim.is_empty())
            .collect();
        if claims.is_empty() {
            return Err(Rejection::HeaderMalformed(HEADER, "expected <milliseconds>,<hex>"));
        }
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window)
    }

    /// The key is a digest of the body. Its `/id` stands beside `/object_type` and may well be the
    /// object's: as a key it would take the second event of an account for a repeat of the first.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let body = proved.body();
        let key = identity::content_digest(&[], body, &[]);
        let Ok(fields) = json::fields(body, FIELDS) else {
            return xml::event(key, body);
        };
        let [object, kind, account, uuid, id, at] = json::texts(&fields);
        let (object, kind) = (object.unwrap_or_default(), kind.unwrap_or_default());
        let account = account.map(|code| format!("account:{code}"));
        let entity = account.or_else(|| Some(format!("{object}:{}", uuid.or(id)?)));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[object, kind]),
            entity: identity::entity(&[entity.as_deref()]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let (object, kind) = draft.kind.split_once('.').unwrap_or((draft.kind, "created"));
            example::written(serde_json::json!({ "id": draft.key, "object_type": object,
                "site_id": "qc326l1hl8k9", "event_type": kind,
                "event_time": example::date(draft.now_s), "account_code": "example" }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("{time},{}", Encoding::Hex.write(&tag));
        let headers = [("Content-Type", "application/json"), ("recurly-signature", &signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

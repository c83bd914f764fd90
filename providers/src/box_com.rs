//! Box: an HMAC over body and time, in this order. An app has two keys, so that one can be
//! replaced while the other signs; each has its own header, and either may prove the request.
//!
//! Source: developer.box.com, "Verify signatures"; box/box-python-sdk.

use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of files and folders (V2).
pub(crate) struct BoxCom;

const PRIMARY: &str = "box-signature-primary";
const SECONDARY: &str = "box-signature-secondary";
const TIME: &str = "box-delivery-timestamp";

/// What Box's own libraries allow, in seconds.
const TOLERANCE_S: i64 = 600;

/// The headers that say how it is signed; there is one way, and they choose no other.
const ONE_WAY: [(&str, &[u8]); 2] =
    [("box-signature-version", b"1"), ("box-signature-algorithm", b"HmacSHA256")];

impl Provider for BoxCom {
    fn name(&self) -> &'static str {
        "box"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Box",
            proof: "HMAC-SHA256 base64 over body and time, by either of two keys",
            key: "`BOX-DELIVERY-ID`",
            entity: "type and `/source/id`",
            position: "`/source/sequence_id`, `/created_at` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["box-delivery-id", TIME]
    }

    fn horizon_days(&self) -> u32 {
        // Retried some ten times over hours.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        for (header, expected) in ONE_WAY {
            if request.header(header)? != expected {
                return Err(Rejection::HeaderMalformed(header, "it is not the known way to sign"));
            }
        }
        let time = request.header(TIME)?;
        let stamp = Stamp::date(TIME, time)?;
        let key = secret.expose().as_bytes();
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body, time], &claims(request)?)?
            .within(stamp, window.at_least(TOLERANCE_S))
    }

    /// The key is the id of the delivery, equal over its retries.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/trigger", "/source/type", "/source/id", "/source/sequence_id", "/created_at"];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [trigger, kind, id, sequence, created_at] = json::texts(&fields);
        // Files and folders number their ids apart.
        let source = id.map(|id| format!("{}:{id}", kind.unwrap_or("source")));
        Ok(vec![Event {
            key: identity::header_key(proved.request(), "box-delivery-id")?,
            kind: identity::kind(&[trigger.unwrap_or_default()]),
            entity: identity::entity(&[source.as_deref()]),
            position: Position {
                occurred_at_us: created_at.and_then(date_us),
                sequence: sequence.and_then(|number| number.parse().ok()),
            },
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/box/file.json");
        let body = example::filled(draft, text, &[("/trigger", draft.kind)]);
        let time = example::date(draft.now_s);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body, time.as_bytes()])?;
        let headers = [
            ("Content-Type", "application/json;charset=utf-8"),
            ("BOX-DELIVERY-ID", draft.key),
            ("BOX-DELIVERY-TIMESTAMP", &time),
            ("BOX-SIGNATURE-VERSION", "1"),
            ("BOX-SIGNATURE-ALGORITHM", "HmacSHA256"),
            ("BOX-SIGNATURE-PRIMARY", &Encoding::Base64.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

/// The signatures by either key; one that is absent, or cannot be read, leaves the other.
fn claims(request: &Request<'_>) -> Result<Vec<Vec<u8>>, Rejection> {
    let mut claims = Vec::new();
    for header in [PRIMARY, SECONDARY] {
        let text = request.header_if_present(header)?.unwrap_or_default();
        claims.extend(Encoding::Base64.read(text).filter(|claim| !claim.is_empty()));
    }
    match claims.is_empty() {
        true => Err(Rejection::HeaderMissing(PRIMARY)),
        false => Ok(claims),
    }
}

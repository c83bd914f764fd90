//! Sanity: an HMAC over time and body in URL-safe base64 without padding; the time is in
//! milliseconds. What the event is stands in headers, which are not signed, as the body is whatever
//! the projection of the webhook makes of the document.
//!
//! Source: sanity-io/webhook-toolkit; sanity.io/docs/webhooks.

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, date_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity};

/// GROQ-powered webhooks of a Sanity project.
pub(crate) struct Sanity;

const LIST: TagList =
    TagList { encoding: Encoding::Base64Url, ..TagList::of("sanity-webhook-signature") };

/// Whether a retry is signed anew is not said. The last may come half an hour after the first;
/// the sender's own library asks for no limit at all.
const TOLERANCE_S: i64 = 3_600;

impl Provider for Sanity {
    fn name(&self) -> &'static str {
        "sanity"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Sanity",
            proof: "HMAC-SHA256 base64url over time and body",
            key: "`idempotency-key`",
            entity: "dataset and document",
            position: "`sanity-transaction-time`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            "idempotency-key",
            "sanity-operation",
            "sanity-project-id",
            "sanity-dataset",
            "sanity-document-id",
            "sanity-webhook-id",
            "sanity-transaction-id",
            "sanity-transaction-time",
        ]
    }

    fn horizon_days(&self) -> u32 {
        // Two retries half a minute apart; earlier ones went on for half an hour.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    /// A webhook may be set to any of them.
    fn methods(&self) -> &'static [&'static str] {
        &["POST", "PUT", "PATCH", "DELETE"]
    }

    fn delivers_by_get(&self) -> Option<&'static str> {
        Some(LIST.header)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Millis)?;
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window.at_least(TOLERANCE_S))
    }

    /// The key is the idempotency key, equal over retries. The transaction is not one: it changes
    /// several documents, and each is an event.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let [operation, dataset, document, at] =
            ["sanity-operation", "sanity-dataset", "sanity-document-id", "sanity-transaction-time"]
                .map(|name| identity::header_text(request, name));
        let entity = identity::entity(&[Some(&dataset), Some(&document)]);
        Ok(vec![Event {
            key: identity::header_key(request, "idempotency-key")?,
            kind: identity::kind(&[&operation]),
            entity: entity.or_else(|| identity::entity(&[Some(&document)])),
            position: Position::at(date_us(&at)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || example::written(serde_json::json!({ "_id": "example", "_type": "post" }));
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            ("idempotency-key", draft.key),
            ("sanity-operation", draft.kind),
            ("sanity-dataset", "production"),
            ("sanity-document-id", "example"),
            ("sanity-transaction-time", &example::date(draft.now_s)),
            (LIST.header, &format!("t={time},v1={}", Encoding::Base64Url.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

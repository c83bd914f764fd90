//! Zoom: an HMAC over time and body. Now and then Zoom wants a token of its choice signed with the
//! same key. It asks by a signed request, and nothing else is answered: `v0:{time}:{body}` as a
//! token would be a signature for everyone.
//!
//! Source: developers.zoom.us/docs/api/webhooks; zoom/webhook-sample, which signs parsed JSON
//! anew and so breaks on other spacing; here the raw bytes count.

use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Reply, Request, Secret, Signed,
    Verified, Window,
};
use crate::{echo, example, identity, json};

/// Apps of Zoom's marketplace.
pub(crate) struct Zoom;

const TIME: &str = "x-zm-request-timestamp";
const SIGNATURE: &str = "x-zm-signature";
const VALIDATION: &str = "endpoint.url_validation";

#[rustfmt::skip]
const FIELDS: [&str; 5] = [
    "/event", "/event_ts", "/payload/object/uuid", "/payload/object/id", "/payload/account_id",
];

impl Provider for Zoom {
    fn name(&self) -> &'static str {
        "zoom"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Zoom",
            proof: "HMAC-SHA256 hex over time and body",
            key: "a digest of the body",
            entity: "`/payload/object/uuid`, else its `id`, else the account",
            position: "`/event_ts` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Three retries within an hour and a half.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "v0=", Encoding::Hex)?;
        let time = request.header(TIME)?;
        let stamp = Stamp::read(TIME, time, Unit::Seconds)?;
        let parts = [b"v0:", time, b":", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &[claim])?
            .within(stamp, window)
    }

    fn challenge_with(&self, proved: &Proved<'_>, secret: &Secret) -> Option<Reply> {
        let fields = json::fields(proved.body(), ["/event", "/payload/plainToken"]).ok()?;
        let [Some(VALIDATION), Some(token)] = json::texts(&fields) else { return None };
        let token = echo::token(token.as_bytes())?;
        let key = secret.expose().as_bytes();
        let tag = Encoding::Hex.write(&sign::hmac(Hash::Sha256, key, &[token.as_bytes()])?);
        Some(Reply::json(format!(r#"{{"plainToken":"{token}","encryptedToken":"{tag}"}}"#)))
    }

    /// The key is a digest of the body. `x-zm-trackingid` may be another one on each attempt, and
    /// event, meeting and millisecond together are shared by two people who join at once.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), FIELDS)?;
        let [kind, at, uuid, id, account] = json::texts(&fields);
        if kind == Some(VALIDATION) {
            return Err(Rejection::Unreadable("the token to sign is not of Zoom's form"));
        }
        Ok(vec![Event {
            key: identity::content_digest(&[], proved.body(), &[]),
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[uuid.or(id).or(account)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Millis))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let object = serde_json::json!({ "id": "1234567890", "uuid": draft.key });
            example::written(serde_json::json!({ "event": draft.kind,
                "event_ts": draft.now_s.saturating_mul(1000),
                "payload": { "account_id": "AAAAAABBBB", "object": object } }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let time = draft.now_s.to_string();
        let parts = [b"v0:", time.as_bytes(), b":", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            ("x-zm-request-timestamp", &time),
            ("x-zm-signature", &format!("v0={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Mollie's next-generation webhooks: an HMAC over the raw body. The header comes once for each
//! secret while secrets are rotated. The classic webhooks, a form with `id=tr_...`, are unsigned
//! and only a hint to ask the API; they are refused.
//!
//! Source: docs.mollie.com/reference/webhooks-new; mollie/mollie-api-php.

use crate::body_tag::BodyTag;
use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook subscriptions of a Mollie organisation.
pub(crate) struct Mollie;

const TAG: BodyTag = BodyTag::new("x-mollie-signature", "sha256=", Encoding::Hex);

#[rustfmt::skip]
const FIELDS: [&str; 6] =
    ["/resource", "/id", "/type", "/entityId", "/_embedded/entity/id", "/createdAt"];

impl Provider for Mollie {
    fn name(&self) -> &'static str {
        "mollie"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Mollie (next-gen)",
            proof: "HMAC-SHA256 hex",
            key: "`/id`",
            entity: "`/entityId`",
            position: "`/createdAt`",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Ten attempts over 26 hours.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(15_000)
    }

    /// Every line must be well-formed and one of them good.
    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let malformed = || Rejection::HeaderMalformed(TAG.header, "expected sha256=<hex>");
        let read = |line: &[u8]| {
            let claim = TAG.encoding.read(line.strip_prefix(TAG.prefix.as_bytes())?);
            claim.filter(|claim| !claim.is_empty())
        };
        let lines = request.header_lines(TAG.header);
        let claims: Option<Vec<Vec<u8>>> = lines.map(read).collect();
        let claims = claims.ok_or_else(malformed)?;
        if claims.is_empty() {
            return Err(Rejection::HeaderMissing(TAG.header));
        }
        let key = secret.expose().as_bytes();
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &claims)
    }

    /// The key is the event's own id. Where the body is no event, `/id` would be that of a payment
    /// that comes back with every change: then a digest of the body is the key. The ping of a new
    /// subscription leaves nothing behind.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), FIELDS)?;
        let [resource, id, kind, entity, embedded, at] = json::texts(&fields);
        if kind == Some("hook.ping") {
            return Ok(Vec::new());
        }
        let key = match id.filter(|_| resource == Some("event")) {
            Some(id) => identity::key(id.as_bytes())?,
            None => identity::content_digest(&[], proved.body(), &[]),
        };
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[entity.or(embedded)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!({ "resource": "event", "id": draft.key,
                "type": draft.kind, "entityId": "pl_qng5gbbv8NAZ5gpM5ZYgx",
                "createdAt": example::date(draft.now_s) }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

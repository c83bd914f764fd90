//! Plaid: a token of ES256 over the digest of the body and its own time, under a key that Plaid
//! hands out by its id to whoever holds credentials. The secret is `client_id:secret`, after
//! `sandbox:` for the sandbox; or a key itself, as JSON, for where nothing can be fetched.
//!
//! Source: plaid.com/docs/api/webhooks/webhook-verification.

use crate::sign::{self, Algorithm, Jwt};
use crate::text::{Unit, time_us};
use crate::{
    Event, Facts, KeyWanted, Keys, NoKeys, Position, Proved, Provider, Rejection, Request, Secret,
    Verified, Window, identity, json,
};

/// Webhooks of a Plaid account.
pub(crate) struct Plaid;

const TOKEN: &str = "plaid-verification";

/// The key of an id, as Plaid is to be asked for it.
fn wanted(secret: &Secret, id: &str) -> Option<KeyWanted> {
    let (endpoint, credentials) = match secret.expose().strip_prefix("sandbox:") {
        Some(rest) => ("https://sandbox.plaid.com/webhook_verification_key/get", rest),
        None => ("https://production.plaid.com/webhook_verification_key/get", secret.expose()),
    };
    let (client, secret) = credentials.split_once(':')?;
    let ask = serde_json::json!({ "client_id": client, "secret": secret, "key_id": id });
    Some(KeyWanted::Listed { endpoint, id: id.to_owned(), post: Secret::new(&ask.to_string()) })
}

impl Provider for Plaid {
    fn name(&self) -> &'static str {
        "plaid"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Plaid",
            proof: "ES256 token over time and the body's digest, key by id",
            key: "a digest of the body and the token's time",
            entity: "`/item_id`",
            position: "the token's `iat` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 24 hours.
        3
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let usable = secret.expose().starts_with('{') || wanted(secret, "").is_some();
        (!usable).then(|| "is not of the form client_id:secret".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        self.verify_with_keys(request, secret, window, &NoKeys)
    }

    fn verify_with_keys<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
        keys: &dyn Keys,
    ) -> Verified<'r> {
        let jwt = Jwt::read(request.header(TOKEN)?, Algorithm::Es256)?;
        let id = jwt.kid.as_deref().ok_or(Rejection::ProofMalformed("the token names no key"))?;
        let wanted = wanted(secret, id).filter(|_| !secret.expose().starts_with('{'));
        let document = match wanted {
            None => secret.expose().as_bytes(),
            Some(wanted) => keys.get(&wanted).ok_or(Rejection::KeyWanted(wanted))?,
        };
        let ended = json::fields(document, ["/key/expired_at", "/expired_at"]);
        let key = match ended {
            Ok([None, None]) => sign::published(document, id),
            Ok(_) => return Err(Rejection::KeyUnusable("Plaid says that it has expired")),
            Err(_) => None,
        };
        let key = key.ok_or(Rejection::KeyUnusable("it is not a key of this id"))?;
        let claims = jwt.prove_public(request, &key)?.demand_body("/request_body_sha256")?;
        Ok(claims.issued_within(window)?.proof())
    }

    /// There is no id, and the same words are sent again and again: an item has new transactions
    /// every day. So the time of the token is a part of the key, although a retry may be given a
    /// new one and then counts twice; merged, genuine events would be lost.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/webhook_type", "/webhook_code", "/item_id"])?;
        let [kind, code, item] = json::texts(&fields);
        let token = proved.request().header(TOKEN).unwrap_or_default();
        let jwt = Jwt::read(token, Algorithm::Es256).ok();
        let at = jwt.and_then(|jwt| jwt.claim(proved, "/iat"));
        let time = at.as_deref().unwrap_or_default();
        Ok(vec![Event {
            key: identity::digest(&[time.as_bytes(), proved.body()]),
            kind: identity::kind(&[kind.unwrap_or_default(), code.unwrap_or_default()]),
            entity: identity::entity(&[item]),
            position: Position::at(time_us(time, Unit::Seconds)),
            volatile: &[],
            part: None,
        }])
    }
}

//! Discord: an Ed25519 signature over time and body, under the public key of the application, for
//! interactions and webhook events alike. Discord probes with bad signatures and wants 401.
//!
//! Source: discord/discord-api-docs, "Setting up an endpoint" and "Webhook events".

mod event;

use self::event::{FACTS, event, sample};
use crate::sign::{self, Encoding, PrivateKey, Stamp};
use crate::text::Unit;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Reply, Request, Secret, Signed, Verified,
    Window, example, json,
};

/// Interactions and webhook events of a Discord application.
pub(crate) struct Discord;

const SIGNATURE: &str = "x-signature-ed25519";
const TIME: &str = "x-signature-timestamp";

/// Retries go on for 10 minutes; whether they are signed anew is not said.
const RETRIES_S: i64 = 15 * 60;

/// The public key in hexadecimal, or the public half of a private key in PEM.
fn public_key(secret: &Secret) -> Option<Vec<u8>> {
    match PrivateKey::from_pem(secret.expose()) {
        Some(key) => Some(key.ed25519_public()?.to_vec()),
        None => Encoding::Hex.read_secret(secret.expose()).filter(|key| key.len() == 32),
    }
}

impl Provider for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn horizon_days(&self) -> u32 {
        // Events are retried for 10 minutes, interactions never.
        1
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let fault = "is not the public key of the application, 64 hexadecimal digits";
        public_key(secret).is_none().then(|| fault.to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let key = public_key(secret)
            .ok_or(Rejection::SecretUnusable("it is not the application's public key"))?;
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Hex)?;
        let time = request.header(TIME)?;
        let stamp = Stamp::read(TIME, time, Unit::Seconds)?;
        sign::prove_ed25519(request, &key, &[time, request.body], &[claim])?
            .within(stamp, window.at_least(RETRIES_S))
    }

    /// Both kinds of endpoint are pinged when their URL is saved.
    fn challenge(&self, proved: &Proved<'_>) -> Option<Reply> {
        let fields = json::fields(proved.body(), ["/type", "/event/type"]).ok()?;
        match json::texts(&fields) {
            [Some("1"), None] => Some(Reply::json(r#"{"type":1}"#)),
            [Some("0"), None] => Some(Reply { status: 204, ..Reply::json("") }),
            _ => None,
        }
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        Ok(vec![event(proved.body())?])
    }

    /// Events want 204. Interactions want content, which only a handler can give.
    fn accepted(&self) -> Option<Reply> {
        Some(Reply { status: 204, ..Reply::json("") })
    }

    /// Signs where the secret is a private key in PEM, made for trying things out.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let time = draft.now_s.to_string();
        let key = PrivateKey::from_pem(secret.expose())?;
        let signature = Encoding::Hex.write(&key.sign(&[time.as_bytes(), &body])?);
        let headers =
            [("Content-Type", "application/json"), (SIGNATURE, &signature), (TIME, &time)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

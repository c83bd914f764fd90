//! Airtable: an HMAC over the raw body, whose key is the base64 of `macSecretBase64`, decoded. The
//! request only says that something changed: what it was is asked for with a cursor.
//!
//! Source: airtable.com/developers/web/api/webhooks-overview, which also asks for an empty answer.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Reply, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity, json};

/// Webhooks of Airtable bases.
pub(crate) struct Airtable;

const TAG: BodyTag = BodyTag::new("x-airtable-content-mac", "hmac-sha256=", Encoding::Hex);

fn key(secret: &Secret) -> Result<Vec<u8>, Rejection> {
    let key = Encoding::Base64.read_secret(secret.expose());
    key.ok_or(Rejection::SecretUnusable("it is not the base64 of macSecretBase64"))
}

impl Provider for Airtable {
    fn name(&self) -> &'static str {
        "airtable"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Airtable",
            proof: "HMAC-SHA256 hex, base64 secret",
            key: "a digest of the body",
            entity: "base and webhook",
            position: "`/timestamp` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // What a notification points to is kept for 7 days.
        10
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(25_000)
    }

    fn accepted(&self) -> Option<Reply> {
        Some(Reply::empty(200))
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let fault = || key(secret).err().map(|fault| fault.to_string());
        secret.api_key_fault().or_else(fault)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, &key(secret)?)
    }

    /// The key is a digest of base, webhook and time. Without the time every notification of a
    /// webhook would be a repeat of its first; with it a retry may at worst be one hint more.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/base/id", "/webhook/id", "/timestamp"])?;
        let [base, webhook, at] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::content_digest(&[], proved.body(), &[]),
            kind: "notification".to_owned(),
            entity: identity::entity(&[base, webhook]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!({ "base": { "id": "app00000000000000" },
                "webhook": { "id": draft.key }, "timestamp": example::date(draft.now_s) }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        TAG.sign(&key(secret).ok()?, body, &[])
    }
}

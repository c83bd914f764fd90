//! SendGrid's Event Webhook: an ECDSA signature over time and body, and an array of events in it.
//! The body ends in CRLF and is signed so; whoever trims it refuses every delivery.
//!
//! Source: docs.sendgrid.com, "Getting started with the Event Webhook security features";
//! sendgrid-nodejs and sendgrid-python, eventwebhook.

use crate::sign::{self, Encoding, Hash, PrivateKey, PublicKey, Stamp};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Request, Secret, Signed,
    Verified, Window, example, identity, json,
};

/// The Event Webhook of a SendGrid account.
pub(crate) struct SendGrid;

const SIGNATURE: &str = "x-twilio-email-event-webhook-signature";
const TIME: &str = "x-twilio-email-event-webhook-timestamp";

/// Whether retries are signed anew is not said, and they go on for 24 hours. Meanwhile the ids in
/// the signed body keep a recorded request from counting twice.
const RETRIES_S: i64 = 25 * 3600;

/// The public key as SendGrid shows it, in base64, or in PEM.
fn public_key(text: &str) -> Option<PublicKey> {
    match text.starts_with("-----") {
        true => PublicKey::from_pem(text),
        false => PublicKey::from_der(&Encoding::Base64.read_secret(text)?),
    }
}

impl Provider for SendGrid {
    fn name(&self) -> &'static str {
        "sendgrid"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "SendGrid",
            proof: "ECDSA P-256 over time and body",
            key: "`/*/sg_event_id`",
            entity: "`/*/sg_message_id`",
            position: "`/*/timestamp` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 24 hours.
        3
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let fault = "is neither the verification key that SendGrid shows nor a PEM of one";
        public_key(secret.expose()).is_none().then(|| fault.to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let key = public_key(secret.expose())
            .ok_or(Rejection::SecretUnusable("it is not SendGrid's verification key"))?;
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Base64)?;
        let time = request.header(TIME)?;
        let stamp = Stamp::read(TIME, time, Unit::Seconds)?;
        sign::prove_public(request, &key, Hash::Sha256, &[time, request.body], &claim)?
            .within(stamp, window.at_least(RETRIES_S))
    }

    /// The key is each event's own id, which SendGrid names for this purpose. One for the request
    /// would not do, as a retry may group the events anew.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let event = |item: json::Item<'_>| {
            let pointers = ["/sg_event_id", "/event", "/sg_message_id", "/email", "/timestamp"];
            let fields = json::fields(item.json, pointers)?;
            let [id, kind, message, email, at] = json::texts(&fields);
            Ok(Event {
                key: match id {
                    Some(id) => identity::key(id.as_bytes())?,
                    None => identity::digest(&[item.json]),
                },
                kind: identity::kind(&[kind.unwrap_or_default()]),
                entity: identity::entity(&[message.or(email)]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range)),
            })
        };
        json::items(proved.body(), "")?.into_iter().map(event).collect()
    }

    /// Signs where the secret is a private key in PEM, made for trying things out.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let key = PrivateKey::from_pem(secret.expose())?;
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/0/sg_event_id", draft.key).unwrap_or(body);
        let time = draft.now_s.to_string();
        let signature = Encoding::Base64.write(&key.sign(&[time.as_bytes(), &body])?);
        let headers =
            [("Content-Type", "application/json"), (SIGNATURE, &signature), (TIME, &time)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!([{
        "email": "example@example.com", "timestamp": draft.now_s, "event": draft.kind,
        "smtp-id": "<14c5d75ce93@ismtpd>", "sg_message_id": "14c5d75ce93.filter0001.0",
    }]))
}

//! Meta: WhatsApp, Messenger, Instagram, Pages. An HMAC over the raw body, whose JSON is escaped
//! as `\u00e4`: encoded anew it would not match. One app secret signs for every product.
//!
//! Source: developers.facebook.com, "Webhooks from Meta: Getting Started", and the references of
//! WhatsApp Cloud API and Messenger Platform.

mod item;

use crate::body_tag::BodyTag;
use crate::sign::{self, Encoding};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Proved, Provider, Rejection, Reply, Request,
    Secret, Signed, Verified, Window,
};
use crate::{batch, echo, example, json};

/// Apps of Meta's Graph API.
pub(crate) struct Meta;

const TAG: BodyTag = BodyTag::new("x-hub-signature-256", "sha256=", Encoding::Hex);

/// Where the id of the example's message stands.
const SAMPLE_ID: &str = "/entry/0/changes/0/value/messages/0/id";

impl Provider for Meta {
    fn name(&self) -> &'static str {
        "meta"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Meta (WhatsApp, Messenger, Instagram)",
            proof: "HMAC-SHA256 hex",
            key: "the message's id, else a digest of the change",
            entity: "phone number or page, and contact or object",
            position: "`timestamp`, `created_time`, else `/entry/*/time`",
        }
    }

    fn body_bytes_max(&self) -> usize {
        // WhatsApp sends up to 3 MB, other products batches of up to 1000 changes.
        4 << 20
    }

    fn horizon_days(&self) -> u32 {
        // WhatsApp retries for up to 7 days, the others for 36 hours.
        10
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    /// The URL is registered by a GET that must show the text agreed upon.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        let mode = request.query_field("hub.mode").filter(|_| request.method == "GET")?;
        let shown = request.query_field("hub.verify_token").unwrap_or_default();
        let known = at.verify_token.is_some_and(|token| {
            sign::prove_token(request, token.expose().as_bytes(), &shown).is_ok()
        });
        let challenge = request.query_field("hub.challenge").unwrap_or_default();
        match echo::token(&challenge) {
            Some(challenge) if known && *mode == b"subscribe"[..] => {
                Handshake::answer(echo::plain(challenge))
            }
            _ => Handshake::answer(Reply::empty(403)),
        }
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// One event for each change or message: retries may batch them differently. Entries of the
    /// oldest kind only name changed fields; they are events themselves.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let object = json::fields(proved.body(), ["/object"])?;
        let [object] = json::texts(&object).map(Option::unwrap_or_default);
        let mut events = Vec::new();
        for entry in json::items(proved.body(), "/entry")? {
            let from = events.len();
            for list in item::LISTS {
                match entry.items(&format!("/{list}")) {
                    Ok(items) => events.extend(item::read(object, &entry, list, &items)?),
                    Err(json::ItemsFault::NoArray) => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
            if events.len() == from {
                events.push(item::bare(object, &entry)?);
            }
            batch::bounded(&events)?;
        }
        Ok(batch::unless_alone(events))
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, SAMPLE_ID, draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let (object, field) = draft.kind.split_once('.').unwrap_or((draft.kind, "messages"));
    let message = serde_json::json!({ "from": "16505551234", "id": draft.key, "type": "text",
        "timestamp": draft.now_s.to_string(), "text": { "body": "hello" } });
    let value = serde_json::json!({ "messaging_product": "whatsapp", "messages": [message],
        "metadata": { "display_phone_number": "15550783881",
            "phone_number_id": "106540352242922" } });
    let change = serde_json::json!({ "value": value, "field": field });
    let entry = serde_json::json!({ "id": "102290129340398", "changes": [change] });
    example::written(serde_json::json!({ "object": object, "entry": [entry] }))
}

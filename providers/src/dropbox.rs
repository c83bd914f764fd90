//! Dropbox: an HMAC over the raw body. It names accounts in which something changed, and nothing
//! else: what changed is asked of `list_folder` with a cursor.
//!
//! Source: dropbox.com/developers/reference/webhooks; dropbox/mdwebhook.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Request,
    Secret, Signed, Verified, Window,
};
use crate::{batch, echo, example, identity, json};

/// Apps of Dropbox.
pub(crate) struct Dropbox;

const TAG: BodyTag = BodyTag::new("x-dropbox-signature", "", Encoding::Hex);

impl Provider for Dropbox {
    fn name(&self) -> &'static str {
        "dropbox"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Dropbox",
            proof: "HMAC-SHA256 hex",
            key: "a digest of account and second of arrival",
            entity: "account",
            position: "unknown",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried over about ten minutes.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        if request.method != "GET" {
            return None;
        }
        let challenge = request.query_field("challenge")?;
        Handshake::answer(echo::plain(echo::token(&challenge)?))
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        Ok(TAG.verify(request, secret.expose().as_bytes())?.seen(window))
    }

    /// Two notifications of one account are equal to the byte, and so are an event and its retry.
    /// A key out of the body alone would take the second change for a repeat and lose it, so the
    /// second of arrival is a part of it: a retry becomes one more hint, which does no harm.
    /// `/delta` is an older form of the same list.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let second = proved.seen_s().map(|at| at.to_string()).unwrap_or_default();
        let event = |account: Option<&str>, item: &[u8], part| Event {
            key: identity::content_digest(&[&second], item, &[]),
            kind: "list_folder".to_owned(),
            entity: identity::entity(&[account]),
            position: Position::default(),
            volatile: &["/delta"],
            part,
        };
        let accounts = match json::items(proved.body(), "/list_folder/accounts") {
            Ok(accounts) if !accounts.is_empty() => accounts,
            // Team apps are told of teams instead.
            Ok(_) | Err(json::ItemsFault::NoArray) => {
                return Ok(vec![event(None, proved.body(), None)]);
            }
            Err(fault) => return Err(fault.into()),
        };
        let read = |item: &json::Item<'_>| {
            let account: Option<String> = serde_json::from_slice(item.json).ok();
            let part = batch::wrapped(r#"{"list_folder":{"accounts":["#, item.json, "]}}")?;
            Ok(event(account.as_deref(), item.json, part))
        };
        let events = accounts.iter().map(read).collect::<Result<_, Rejection>>()?;
        Ok(batch::unless_alone(events))
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let account = format!("dbid:{}", draft.key);
        let sample = || {
            let accounts = serde_json::json!({ "accounts": [account] });
            example::written(serde_json::json!({ "list_folder": accounts }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

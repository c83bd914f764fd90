//! Trello: an HMAC-SHA1 over the raw body and the callback URL, one after the other, under the
//! application's secret. No time is signed.
//!
//! Source: developer.atlassian.com/cloud/trello/guides/rest-api/webhooks.

use serde_json::json;

use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Reply,
    Request, Secret, Signed, Verified, Window, example, identity, json,
};

/// Webhooks of a Trello application.
pub(crate) struct Trello;

const SIGNATURE: &str = "x-trello-webhook";

impl Provider for Trello {
    fn name(&self) -> &'static str {
        "trello"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Trello",
            proof: "HMAC-SHA1 base64 over body and URL",
            key: "`/action/id`",
            entity: "the card, else `/model/id`",
            position: "`/action/date`",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Three retries within 4 minutes.
        1
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    /// A webhook is not made unless its URL answers HEAD with exactly 200.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        (request.method == "HEAD").then(|| Handshake::answer(Reply::empty(200)))?
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Base64)?;
        let parts = [request.body, request.url.as_bytes()];
        sign::prove_hmac(request, Hash::Sha1, secret.expose().as_bytes(), &parts, &[claim])
    }

    /// The key is the action's id: every retry is about the same action.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/action/id", "/action/type", "/action/date", "/action/data/card/id", "/model/id"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, at, card, model] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no action id at /action/id"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[card.or(model)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let made = json!({ "action": { "type": draft.kind, "date": "2026-01-01T00:00:00.000Z",
            "data": { "card": { "id": "51a79e72dbb7e23c7c003778", "name": "Example" } } },
            "model": { "id": "4d5ea62fd76aa1136000000c" } });
        let body = draft.body.map_or_else(|| example::written(made), <[u8]>::to_vec);
        let body = json::with_text(&body, "/action/id", draft.key).unwrap_or(body);
        let parts = [&body, draft.url.as_bytes()];
        let tag = sign::hmac(Hash::Sha1, secret.expose().as_bytes(), &parts)?;
        let signature = Encoding::Base64.write(&tag);
        let headers = [("Content-Type", "application/json"), (SIGNATURE, &signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! X (Twitter): an HMAC over the raw body in base64. X also asks for one over a token of its
//! choice (CRC), by GET, with the same key: whoever asks gets that token signed. So tokens are of
//! a narrow alphabet, and no body written in it is ever taken for a proved one.
//!
//! Source: developer.x.com, "Securing webhooks"; published signatures of frain-dev/convoy.

mod activity;

use crate::body_tag::BodyTag;
use crate::sign::{self, Encoding, Hash};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Proved, Provider, Rejection, Reply, Request,
    Secret, Signed, Verified, Window,
};
use crate::{echo, example, json};

/// Apps subscribed to X's Account Activity API.
pub(crate) struct X;

const TAG: BodyTag = BodyTag::new("x-twitter-webhooks-signature", "sha256=", Encoding::Base64);

impl Provider for X {
    fn name(&self) -> &'static str {
        "x_twitter"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "X (Twitter)",
            proof: "HMAC-SHA256 base64",
            key: "user, list and `id_str`, else a digest",
            entity: "`/for_user_id`",
            position: "`timestamp_ms`, `created_timestamp`",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Three retries within minutes; the replay API reaches back for 5 days.
        7
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    /// The first secret answers: it is the one X holds once a rotation is over.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        if request.method != "GET" {
            return None;
        }
        let token = request.query_field("crc_token")?;
        let token = echo::token(&token)?.as_bytes();
        let key = at.secrets.first()?.expose().as_bytes();
        let tag = Encoding::Base64.write(&sign::hmac(Hash::Sha256, key, &[token])?);
        Handshake::answer(Reply::json(format!(r#"{{"response_token":"sha256={tag}"}}"#)))
    }

    /// Whether the body is a token is seen before the proof: its signature may be our own answer.
    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        if echo::token(request.body).is_some() {
            return Err(Rejection::ProofMalformed("a body like this may be a token we signed"));
        }
        TAG.verify(request, secret.expose().as_bytes())
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        activity::events(proved.body())
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let ms = draft.now_s.saturating_mul(1000).to_string();
            let tweet = serde_json::json!({ "id_str": draft.key, "text": "hello",
                "timestamp_ms": ms, "user": { "id_str": "2244994945" } });
            let list = serde_json::json!({ "for_user_id": "2244994945", draft.kind: [tweet] });
            example::written(list)
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let pointer = format!("/{}/0/id_str", draft.kind);
        let body = json::with_text(&body, &pointer, draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

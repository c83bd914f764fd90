//! Netlify: a token of HS256 over the digest of the body. It carries no time, so only the key stops
//! a repeat.
//!
//! Source: docs.netlify.com/deploy/deploy-notifications, "Payload signature".

use serde_json::json;

use crate::sign::{self, Algorithm, Jwt};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Deploy and form notifications of a Netlify site.
pub(crate) struct Netlify;

const TOKEN: &str = "x-webhook-signature";

impl Provider for Netlify {
    fn name(&self) -> &'static str {
        "netlify"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Netlify",
            proof: "HS256 token over the body's digest",
            key: "a digest of event and body",
            entity: "`/site_id` and `/id`",
            position: "`/updated_at`, `/created_at`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-netlify-event"]
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried.
        2
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let jwt = Jwt::read(request.header(TOKEN)?, Algorithm::Hs256)?;
        let claims = jwt.prove_shared(request, secret.expose().as_bytes())?;
        Ok(claims.demand("/iss", &["netlify"])?.demand_body("/sha256")?.proof())
    }

    /// There is no id and no retry: a deploy passes through a state more than once, told apart by
    /// the rest of its body.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let event = identity::header_text(proved.request(), "x-netlify-event");
        let pointers = ["/site_id", "/id", "/state", "/updated_at", "/created_at"];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [site, id, state, updated, created] = json::texts(&fields);
        let at = updated.or(created).and_then(|at| time_us(at, Unit::Seconds));
        let kind = if event.is_empty() { state.unwrap_or_default() } else { &event };
        Ok(vec![Event {
            key: identity::digest(&[event.as_bytes(), proved.body()]),
            kind: identity::kind(&[kind]),
            entity: identity::entity(&[site, id]),
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let made = json!({ "id": draft.key, "site_id": "example", "state": "ready",
            "created_at": "2026-01-01T00:00:00.000Z" });
        let body = draft.body.map_or_else(|| example::written(made), <[u8]>::to_vec);
        let claims = json!({ "iss": "netlify", "sha256": sign::sha256_hex(&body) });
        let token = sign::shared_token(&claims, secret.expose().as_bytes())?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Netlify-Event", draft.kind),
            ("X-Webhook-Signature", &token),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Notion: an HMAC over the raw body. Its key is the `verification_token`, which comes unsigned in
//! the first request to a URL and which a person then pastes into Notion. It is taken only while
//! the operator is registering the source: at any other time a stranger could plant one.
//!
//! Source: developers.notion.com/reference/webhooks; makenotion/notion-sdk-js.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Reply,
    Request, Secret, Signed, Verified, Window,
};
use crate::{echo, example, identity, json};

/// Webhook subscriptions of a Notion integration.
pub(crate) struct Notion;

const TAG: BodyTag = BodyTag::new("x-notion-signature", "sha256=", Encoding::Hex);

/// Bytes of the request that hands the token over; it holds little else.
const TOKEN_BODY_MAX: usize = 1_024;

impl Provider for Notion {
    fn name(&self) -> &'static str {
        "notion"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Notion",
            proof: "HMAC-SHA256 hex",
            key: "`/id`",
            entity: "`/entity/id`",
            position: "`/timestamp` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Eight retries over about a day.
        4
    }

    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        let small = request.body.len() <= TOKEN_BODY_MAX;
        if !at.pending || request.method != "POST" || !small || request.header(TAG.header).is_ok() {
            return None;
        }
        let fields = json::fields(request.body, ["/verification_token"]).ok()?;
        let [token] = json::texts(&fields);
        let token = echo::token(token?.as_bytes())?.to_owned();
        Some(Handshake { reply: Reply::empty(200), plants: Some(token) })
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the event's own id; a retry keeps it and counts up `attempt_number`.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/id", "/type", "/entity/id", "/timestamp"])?;
        let [id, kind, entity, at] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::key(id.unwrap_or_default().as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[entity]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &["/attempt_number"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let entity = draft.kind.split('.').next().unwrap_or_default();
    let workspace = "13950b26-c203-4f3b-b97d-93ec06319565";
    example::written(serde_json::json!({
        "id": draft.key, "timestamp": example::date(draft.now_s), "workspace_id": workspace,
        "type": draft.kind, "attempt_number": 1, "authors": [],
        "entity": { "id": "153104cd-477e-809d-8dc4-ff2d96ae3090", "type": entity },
        "data": { "parent": { "id": workspace, "type": "space" } },
    }))
}

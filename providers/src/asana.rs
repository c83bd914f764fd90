//! Asana: an HMAC over the raw body, around a batch of events; an empty one every 8 hours is a
//! heartbeat. The secret is Asana's own: it comes in `X-Hook-Secret` of the request that
//! registers the URL, and is taken only while the operator is doing that. At any other time a
//! stranger could plant one.
//!
//! Source: developers.asana.com/docs/webhooks-guide.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Part, Position, Proved, Provider, Rejection,
    Reply, Request, Secret, Signed, Verified, Window,
};
use crate::{echo, example, identity, json};

/// Webhooks on resources of Asana.
pub(crate) struct Asana;

const TAG: BodyTag = BodyTag::new("x-hook-signature", "", Encoding::Hex);
const SECRET: &str = "x-hook-secret";

impl Provider for Asana {
    fn name(&self) -> &'static str {
        "asana"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Asana",
            proof: "HMAC-SHA256 hex",
            key: "a digest of the event",
            entity: "`/events/*/resource/gid`",
            position: "`/events/*/created_at` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for a day; then the webhook is deleted.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    /// A signed request is never one: Asana has no secret to sign this one with.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        if !at.pending || request.method != "POST" || request.header(TAG.header).is_ok() {
            return None;
        }
        let secret = echo::token(request.header(SECRET).ok()?)?;
        let headers = vec![(SECRET, secret.to_owned())];
        let reply = Reply { headers, ..Reply::empty(200) };
        Some(Handshake { reply, plants: Some(secret.to_owned()) })
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is a digest of the event: who, when, what, on which resource. There is no id, and
    /// a retry may come in another batch.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &json::Item<'_>| {
            let pointers = ["/resource/resource_type", "/action", "/resource/gid", "/created_at"];
            let fields = json::fields(item.json, pointers)?;
            let [resource, action, gid, at] = json::texts(&fields);
            Ok(Event {
                key: identity::content_digest(&[], item.json, &[]),
                kind: identity::kind(&[resource.unwrap_or_default(), action.unwrap_or_default()]),
                entity: identity::entity(&[gid]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        json::items(proved.body(), "/events")?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let (resource, action) = draft.kind.split_once('.').unwrap_or((draft.kind, "changed"));
    example::written(serde_json::json!({
        "events": [{
            "user": { "gid": "1123", "resource_type": "user" }, "action": action, "parent": null,
            "created_at": example::date(draft.now_s),
            "resource": { "gid": draft.key, "resource_type": resource },
        }],
    }))
}

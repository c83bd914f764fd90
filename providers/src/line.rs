//! LINE: an HMAC over the raw body in base64, around a batch of events. The console's check sends
//! an empty batch, which is answered and leaves nothing behind.
//!
//! Source: developers.line.biz, "Receive messages (webhook)"; line/line-bot-sdk-nodejs.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity, json};

/// Bots and channels of LINE's Messaging API.
pub(crate) struct Line;

const TAG: BodyTag = BodyTag::new("x-line-signature", "", Encoding::Base64);

#[rustfmt::skip]
const FIELDS: [&str; 6] = [
    "/webhookEventId", "/type", "/timestamp",
    "/source/groupId", "/source/roomId", "/source/userId",
];

impl Provider for Line {
    fn name(&self) -> &'static str {
        "line"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "LINE",
            proof: "HMAC-SHA256 base64",
            key: "`/events/*/webhookEventId`",
            entity: "group, room or user",
            position: "`/events/*/timestamp` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Redelivery is off unless asked for; then its number and intervals are not disclosed.
        10
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the event's own id, which a redelivery keeps while its batch and
    /// `isRedelivery` change.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &json::Item<'_>| {
            let fields = json::fields(item.json, FIELDS)?;
            let [id, kind, at, group, room, user] = json::texts(&fields);
            // In a group, the user is whoever spoke; the conversation is the group's.
            let entity = [("group", group), ("room", room), ("user", user)]
                .iter()
                .find_map(|(name, id)| Some(format!("{name}:{}", (*id)?)));
            Ok(Event {
                key: identity::key(id.unwrap_or_default().as_bytes())?,
                kind: identity::kind(&[kind.unwrap_or_default()]),
                entity: identity::entity(&[entity.as_deref()]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Millis))),
                volatile: &["/deliveryContext/isRedelivery"],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        json::items(proved.body(), "/events")?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/events/0/webhookEventId", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!({
        "destination": "U8e742f61d673b39c7fff3cecb7536ef0",
        "events": [{
            "type": draft.kind, "mode": "active", "timestamp": draft.now_s.saturating_mul(1000),
            "source": { "type": "user", "userId": "U4af4980629example" },
            "webhookEventId": draft.key, "deliveryContext": { "isRedelivery": false },
            "replyToken": "0f3779fba3b349968c5d07db31eab56f",
            "message": { "id": "444573844083572737", "type": "text", "text": "hello" },
        }],
    }))
}

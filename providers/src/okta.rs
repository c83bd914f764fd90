//! Okta event hooks: a text of your choice in `Authorization`, compared whole, which proves the
//! sender and not the content. A batch of events is in the body.
//!
//! Source: developer.okta.com/docs/concepts/event-hooks.

use crate::sign::{self, Coverage};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Part, Position, Proved, Provider, Rejection,
    Reply, Request, Secret, Signed, Verified, Window,
};
use crate::{echo, example, identity, json};

/// Event hooks of an Okta organisation.
pub(crate) struct Okta;

const AUTHORIZATION: &str = "authorization";
const CHALLENGE: &str = "x-okta-verification-challenge";

#[rustfmt::skip]
const FIELDS: [&str; 5] = ["/uuid", "/eventType", "/published", "/target/0/id", "/actor/id"];

impl Provider for Okta {
    fn name(&self) -> &'static str {
        "okta"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Okta event hooks",
            proof: "`Authorization` of your choice",
            key: "`/data/events/*/uuid`",
            entity: "first target, else actor",
            position: "`/data/events/*/published` (ms)",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // One retry, at once.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    /// Asked once, when the hook is registered; it only gives a token back.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        if request.method != "GET" {
            return None;
        }
        let token = echo::token(request.header(CHALLENGE).ok()?)?;
        Handshake::answer(Reply::json(format!(r#"{{"verification":"{token}"}}"#)))
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = request.header(AUTHORIZATION)?;
        sign::prove_token(request, secret.expose().as_bytes(), claim)
    }

    /// The key is each event's own uuid: `/eventId` names the request that carries them.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &json::Item<'_>| {
            let fields = json::fields(item.json, FIELDS)?;
            let [id, kind, at, target, actor] = json::texts(&fields);
            Ok(Event {
                key: identity::key(id.unwrap_or_default().as_bytes())?,
                kind: identity::kind(&[kind.unwrap_or_default()]),
                entity: identity::entity(&[target.or(actor)]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        json::items(proved.body(), "/data/events")?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/data/events/0/uuid", draft.key).unwrap_or(body);
        let token = secret.expose();
        let headers = [("Content-Type", "application/json"), ("Authorization", token)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let now = example::date(draft.now_s);
    let target = serde_json::json!({ "id": "00u1exampleTarget", "type": "User" });
    example::written(serde_json::json!({
        "eventType": "com.okta.event_hook", "eventTypeVersion": "1.0", "eventTime": now,
        "cloudEventsVersion": "0.1", "contentType": "application/json",
        "source": "https://example.okta.com/api/v1/eventHooks/who8example",
        "eventId": "b5a188b9-5ece-4636-b041-482ffda96311",
        "data": { "events": [{ "uuid": draft.key, "published": now, "eventType": draft.kind,
            "target": [target] }] },
    }))
}

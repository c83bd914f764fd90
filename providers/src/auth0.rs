//! Auth0 log streams: a text of your choice in `Authorization`, compared whole, which proves the
//! sender and not the content. The body is a batch of log entries: a JSON array, one object, or an
//! object on each line, as the stream is set up.
//!
//! Source: auth0.com/docs/customize/log-streams/custom-log-streams.

use crate::admit::EVENTS_MAX;
use crate::json::{self, Item, ItemsFault};
use crate::sign::{self, Coverage};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity};

/// Custom log streams of an Auth0 tenant.
pub(crate) struct Auth0;

#[rustfmt::skip]
const FIELDS: [&str; 6] = [
    "/log_id", "/data/log_id", "/data/type", "/data/date", "/data/user_id", "/data/client_id",
];

impl Provider for Auth0 {
    fn name(&self) -> &'static str {
        "auth0"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Auth0 log streams",
            proof: "`Authorization` of your choice",
            key: "`/*/log_id`",
            entity: "user, else client",
            position: "`/*/data/date` (ms)",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; this leaves room for a thousand entries of some kilobytes.
        8 << 20
    }

    fn horizon_days(&self) -> u32 {
        // A stream that failed for up to 7 days goes on where it stopped.
        10
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = request.header("authorization")?;
        sign::prove_token(request, secret.expose().as_bytes(), claim)
    }

    /// The key is the id of each entry; how entries are put together changes from one attempt to
    /// the next.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &Item<'_>| {
            let fields = json::fields(item.json, FIELDS)?;
            let [id, inner_id, kind, at, user, client] = json::texts(&fields);
            let user = user.map(|id| format!("user:{id}"));
            let entity = user.or_else(|| client.map(|id| format!("client:{id}")));
            Ok(Event {
                key: identity::key(id.or(inner_id).unwrap_or_default().as_bytes())?,
                kind: identity::kind(&[kind.unwrap_or_default()]),
                entity: identity::entity(&[entity.as_deref()]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        entries(proved.body())?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!([{ "log_id": draft.key, "data": {
                "date": example::date(draft.now_s), "type": draft.kind, "log_id": draft.key,
                "client_id": "AaiyAPdpYdesoKnqjj8HJqRn4T5titww", "user_id": "auth0|example" } }]))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let body = json::with_text(&body, "/0/log_id", draft.key).unwrap_or(body);
        let token = secret.expose();
        let headers = [("Content-Type", "application/json"), ("Authorization", token)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

/// The entries of a body in any of its forms. What is neither array nor one object is read line
/// by line.
fn entries(body: &[u8]) -> Result<Vec<Item<'_>>, Rejection> {
    match json::items(body, "") {
        Err(ItemsFault::NoArray) => {
            let inner = json::items(body, "/logs");
            Ok(inner.unwrap_or_else(|_| vec![Item { range: 0..body.len(), json: body }]))
        }
        Err(ItemsFault::NotJson) => {
            let mut start = 0;
            let lines = body.split(|byte| *byte == b'\n').map(|json| {
                let range = start..start + json.len();
                start = range.end + 1;
                Item { range, json }
            });
            let filled = lines.filter(|line| !line.json.trim_ascii().is_empty());
            Ok(filled.take(EVENTS_MAX + 1).collect())
        }
        found => Ok(found?),
    }
}

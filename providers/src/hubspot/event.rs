//! What HubSpot's events are about, and how it spells the URL that it signs.

use std::ops::Range;

use crate::text::{Unit, time_us};
use crate::{Draft, Event, Facts, Part, Position, Rejection, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "HubSpot",
    proof: "v3: HMAC-SHA256 base64 over method, URL, body and time; v1, v2: SHA-256",
    key: "`eventId`, `subscriptionId`, object and `occurredAt` together",
    entity: "`portalId` and `objectId`",
    position: "`occurredAt` (ms)",
};

/// Escapes that are undone before the third generation of signatures is made.
#[rustfmt::skip]
const UNESCAPED: [(&str, &str); 12] = [
    ("%3A", ":"), ("%2F", "/"), ("%3F", "?"), ("%40", "@"), ("%21", "!"), ("%24", "$"),
    ("%27", "'"), ("%28", "("), ("%29", ")"), ("%2A", "*"), ("%2C", ","), ("%3B", ";"),
];

/// The URL as the third generation signs it.
pub(super) fn url_as_signed(url: &str) -> String {
    let undo = |url: String, (escape, plain): &(&str, &str)| {
        url.replace(escape, plain).replace(&escape.to_ascii_lowercase(), plain)
    };
    UNESCAPED.iter().fold(url.to_owned(), undo)
}

/// The parts of the key; then kind, portal, and what workflows send.
#[rustfmt::skip]
const FIELDS: [&str; 10] = [
    "/eventId", "/subscriptionId", "/objectId", "/fromObjectId", "/toObjectId", "/occurredAt",
    "/subscriptionType", "/portalId", "/portal-id", "/vid",
];

/// An `eventId` is not promised to be unique, so the key has all that names the event. A retry has
/// these again and counts its attempts in another field.
pub(super) fn event(json: &[u8], range: Option<Range<usize>>) -> Result<Event, Rejection> {
    let fields = json::fields(json, FIELDS)?;
    let texts = json::texts(&fields);
    let [id, subscription, object, from, to, at, kind, portal, workflow_portal, contact] = texts;
    let about = object.or(from).or(contact);
    let key = match id {
        Some(id) => {
            let parts = [Some(id), subscription, about, to, at];
            identity::key(parts.map(Option::unwrap_or_default).join(":").as_bytes())?
        }
        None => identity::content_digest(&[], json, VOLATILE),
    };
    Ok(Event {
        key,
        kind: identity::kind(&[kind.unwrap_or_default()]),
        entity: identity::entity(&[portal.or(workflow_portal), about]),
        position: Position::at(at.and_then(|at| time_us(at, Unit::Millis))),
        volatile: VOLATILE,
        part: range.map(Part::Slice),
    })
}

const VOLATILE: &[&str] = &["/attemptNumber"];

/// A batch of one.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!([{
        "subscriptionId": 12345, "portalId": 62515, "appId": 54321, "objectId": 123,
        "occurredAt": draft.now_s * 1000, "subscriptionType": draft.kind, "attemptNumber": 0,
        "changeSource": "CRM", "changeFlag": "NEW",
    }]))
}

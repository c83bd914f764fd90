//! What Discord's bodies are about: an interaction of a user, or an event of the application.

use crate::text::utc_date_us;
use crate::{Draft, Event, Facts, Position, Rejection, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Discord",
    proof: "Ed25519 over time and body",
    key: "interactions: `/id`; events: a digest",
    entity: "channel or guild; of events the user or the thing",
    position: "the time in `/id`; `/event/timestamp`",
};

/// Ids, kinds and time; then what an event and what an interaction may be about.
#[rustfmt::skip]
const FIELDS: [&str; 12] = [
    "/event/type", "/event/timestamp", "/type", "/id", "/data/name", "/data/custom_id",
    "/event/data/user/id", "/event/data/user_id", "/event/data/id",
    "/channel_id", "/channel/id", "/guild_id",
];

/// An interaction has an id and is never retried. An event has none; its body has the time and is
/// resent as it was.
pub(super) fn event(body: &[u8]) -> Result<Event, Rejection> {
    let fields = json::fields(body, FIELDS)?;
    let [event, at, outer, id, name, custom_id, about @ ..] = json::texts(&fields);
    let (happened, place) = about.split_at(3);
    let about = if event.is_some() { happened } else { place };
    let about = about.iter().flatten().next().copied();
    let [name, custom_id] = [name, custom_id].map(Option::unwrap_or_default);
    let kind = match (event, outer.unwrap_or_default()) {
        (Some(event), _) => identity::kind(&[event]),
        (None, "2") => identity::kind(&["command", name]),
        (None, "3") => identity::kind(&["component", custom_id]),
        (None, "4") => identity::kind(&["autocomplete", name]),
        (None, "5") => identity::kind(&["modal", custom_id]),
        (None, other) => identity::kind(&["interaction", other]),
    };
    let (key, at) = match id.filter(|_| event.is_none()) {
        Some(id) => (identity::key(id.as_bytes())?, made_us(id)),
        None => (identity::digest(&[body]), at.and_then(utc_date_us)),
    };
    Ok(Event {
        key,
        kind,
        entity: identity::entity(&[about]),
        position: Position::at(at),
        volatile: &[],
        part: None,
    })
}

/// The time in an id: milliseconds since the first second of 2015, above 22 other bits.
fn made_us(id: &str) -> Option<i64> {
    let ms = (id.parse::<u64>().ok()? >> 22).checked_add(1_420_070_400_000)?;
    i64::try_from(ms).ok()?.checked_mul(1000)
}

/// An event that bears the id asked for.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!({
        "version": 1, "application_id": "1234560123453231555", "type": 1,
        "event": { "type": draft.kind, "timestamp": "2026-01-01T00:00:00.000000",
            "data": { "id": draft.key, "user": { "id": "82198898841029460" } } },
    }))
}

//! One CloudEvent, out of JSON or out of headers.

use crate::text::{Unit, time_us};
use crate::{Event, Facts, Position, Rejection, Request, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "CloudEvents",
    proof: "a bearer token, or `access_token` in the query",
    key: "`source` and `id` together",
    entity: "`source` and `subject`",
    position: "`sequence`, `time`",
};

/// Only source and id together are unique. A source is a URI and has no space in it.
fn event(texts: [Option<&str>; 6]) -> Result<Event, Rejection> {
    let [id, source, kind, subject, at, sequence] = texts;
    let (Some(id), Some(source)) = (id, source) else {
        return Err(Rejection::Unreadable("the event has no id and source"));
    };
    let key = format!("{source} {id}");
    Ok(Event {
        key: match key.len() {
            0..=identity::KEY_BYTES_MAX => identity::key(key.as_bytes())?,
            _ => identity::digest(&[source.as_bytes(), id.as_bytes()]),
        },
        kind: identity::kind(&[kind.unwrap_or_default()]),
        entity: match subject {
            Some(_) => identity::entity(&[Some(source), subject]),
            None => identity::entity(&[Some(source)]),
        },
        position: Position {
            occurred_at_us: at.and_then(|at| time_us(at, Unit::Seconds)),
            sequence: sequence.and_then(|number| number.parse().ok()),
        },
        volatile: &[],
        part: None,
    })
}

/// An event that is all in JSON.
pub(crate) fn structured(json: &[u8]) -> Result<Event, Rejection> {
    let pointers = ["/id", "/source", "/type", "/subject", "/time", "/sequence"];
    event(json::texts(&json::fields(json, pointers)?))
}

/// An event whose attributes are headers, and whose data is the body.
pub(super) fn binary(request: &Request<'_>) -> Result<Event, Rejection> {
    let names = ["ce-id", "ce-source", "ce-type", "ce-subject", "ce-time", "ce-sequence"];
    let texts = names.map(|name| identity::header_text(request, name));
    event(texts.each_ref().map(|text| Some(text.as_str()).filter(|text| !text.is_empty())))
}

/// The data of an event.
pub(super) fn sample() -> Vec<u8> {
    example::written(serde_json::json!({ "example": true }))
}

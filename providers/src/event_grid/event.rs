//! One event of Event Grid, in its own schema or as a CloudEvent.

use crate::cloudevents::structured;
use crate::text::{Unit, time_us};
use crate::{Draft, Event, Facts, Position, Rejection, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Azure Event Grid",
    proof: "a secret in `aeg-sas-key`, `Authorization` or the query's `code`",
    key: "`/*/id`; CloudEvents: `source` and `id`",
    entity: "topic and `/*/subject`",
    position: "`/*/eventTime`",
};

/// The key is the event's id, kept over retries, which are counted in a header.
pub(super) fn event(json: &[u8]) -> Result<Event, Rejection> {
    let pointers = ["/specversion", "/id", "/eventType", "/topic", "/subject", "/eventTime"];
    let fields = json::fields(json, pointers)?;
    let [version, id, kind, topic, subject, at] = json::texts(&fields);
    if version.is_some() {
        return structured(json);
    }
    Ok(Event {
        key: identity::key(id.unwrap_or_default().as_bytes())?,
        kind: identity::kind(&[kind.unwrap_or_default()]),
        entity: identity::entity(&[topic, subject]),
        position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
        volatile: &[],
        part: None,
    })
}

/// An event of no topic in particular.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!([{
        "topic": "/subscriptions/example", "subject": "/example", "eventType": draft.kind,
        "eventTime": "2026-01-01T00:00:00Z", "data": {}, "dataVersion": "1",
    }]))
}

//! What Contentful's notifications are about: an entry, an asset or a content type.

use crate::text::{Unit, time_us};
use crate::{Draft, Event, Facts, Position, Rejection, Request, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Contentful",
    proof: "HMAC-SHA256 hex over method, path, listed headers and body",
    key: "topic, space, id and version together, else a digest",
    entity: "space and `/sys/id`",
    position: "`/sys/version`, `/sys/updatedAt`",
};

/// What Contentful calls its JSON.
pub(super) const MEDIA_TYPE: &str = "application/vnd.contentful.management.v1+json";

const FIELDS: [&str; 7] = [
    "/sys/space/sys/id",
    "/sys/environment/sys/id",
    "/sys/id",
    "/sys/version",
    "/sys/revision",
    "/sys/updatedAt",
    "/sys/deletedAt",
];

/// No id of the delivery is known. A version of a thing is announced once for each topic, so these
/// make the key; a body that was transformed beyond this is known by its digest.
///
/// Only the version is a position: revisions count publications, and the two may not be compared.
pub(super) fn entry(request: &Request<'_>) -> Result<Event, Rejection> {
    let topic = identity::header_text(request, "x-contentful-topic");
    let fields = json::fields(request.body, FIELDS).unwrap_or_default();
    let [space, environment, id, version, revision, updated, deleted] = json::texts(&fields);
    let at = deleted.or(updated);
    let key = match (id, version.or(revision).or(at)) {
        (Some(id), Some(state)) => {
            let [space, environment] = [space, environment].map(Option::unwrap_or_default);
            let key = [&topic, space, environment, id, state, at.unwrap_or_default()].join(":");
            identity::key(key.as_bytes())?
        }
        _ => identity::digest(&[topic.as_bytes(), request.body]),
    };
    Ok(Event {
        key,
        kind: identity::kind(&[&topic]),
        entity: match space {
            Some(space) => identity::entity(&[Some(space), id]),
            None => identity::entity(&[id]),
        },
        position: Position {
            occurred_at_us: at.and_then(|at| time_us(at, Unit::Seconds)),
            sequence: version.and_then(|version| version.parse().ok()),
        },
        volatile: &[],
        part: None,
    })
}

/// An entry that bears the id asked for.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!({
        "sys": { "type": "Entry", "id": draft.key, "version": 1,
            "space": { "sys": { "type": "Link", "linkType": "Space", "id": "example" } },
            "updatedAt": "2026-01-01T00:00:00.000Z" },
        "fields": { "title": { "en-US": "Example" } },
    }))
}

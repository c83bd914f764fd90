//! What Jira's events are about: mostly an issue, else a project, a sprint, a version or a user.

use crate::text::{Unit, time_us};
use crate::{Draft, Event, Facts, Position, Rejection, Request, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Jira",
    proof: "HMAC-SHA256 hex; Connect apps: HS256 token over method, path and query",
    key: "`X-Atlassian-Webhook-Identifier`, else a digest",
    entity: "issue, else project, sprint, version, board or user",
    position: "`/changelog/id`, `/timestamp` (ms)",
};

/// Kind and position, then what the event may be about.
#[rustfmt::skip]
const FIELDS: [&str; 10] = [
    "/webhookEvent", "/issue_event_type_name", "/timestamp", "/changelog/id",
    "/issue/id", "/project/id", "/sprint/id", "/version/id", "/board/id", "/user/accountId",
];

const LABELS: [&str; 6] = ["issue", "project", "sprint", "version", "board", "user"];

/// The key is the identifier that is kept over retries. Older servers send none; their bodies have
/// the time in milliseconds.
pub(super) fn issue(request: &Request<'_>) -> Result<Event, Rejection> {
    let key = match request.header_if_present("x-atlassian-webhook-identifier") {
        Ok(None) => identity::digest(&[request.body]),
        _ => identity::header_key(request, "x-atlassian-webhook-identifier")?,
    };
    let fields = json::fields(request.body, FIELDS).unwrap_or_default();
    let [kind, action, at, change, about @ ..] = json::texts(&fields);
    let about = LABELS.iter().zip(about).find_map(|(label, id)| Some(format!("{label}:{}", id?)));
    Ok(Event {
        key,
        kind: identity::kind(&[kind.unwrap_or_default(), action.unwrap_or_default()]),
        entity: identity::entity(&[about.as_deref()]),
        position: Position {
            occurred_at_us: at.and_then(|at| time_us(at, Unit::Millis)),
            sequence: change.and_then(|id| id.parse().ok()),
        },
        volatile: &[],
        part: None,
    })
}

/// An issue that was touched.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!({
        "timestamp": draft.now_s * 1000, "webhookEvent": draft.kind,
        "issue": { "id": "10002", "key": "EX-1", "fields": { "summary": "Example" } },
    }))
}

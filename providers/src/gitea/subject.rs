//! What an event of a forge is about. The bodies look like GitHub's, but the names of the events
//! differ between versions, so that the body alone decides.

use crate::text::{Unit, time_us};
use crate::{Position, identity, json};

/// What was read of a body.
#[derive(Default)]
pub(super) struct Subject {
    pub(super) action: String,
    pub(super) entity: Option<String>,
    pub(super) position: Position,
}

const FIELDS: [&str; 11] = [
    "/action",
    "/repository/id",
    "/pull_request/number",
    "/issue/number",
    "/is_pull",
    "/issue/pull_request/merged",
    "/ref",
    "/ref_type",
    "/release/id",
    "/pull_request/updated_at",
    "/issue/updated_at",
];

/// Reads a body. A comment on a pull request comes as one on an issue, and shares the lane of
/// the pull request. A push has no time of its own: commits carry their authors' clocks, and the
/// repository in it was read before the push.
pub(super) fn subject(body: &[u8]) -> Subject {
    let fields = json::fields(body, FIELDS).unwrap_or_default();
    let [action, repository, pull, issue, is_pull, merged, name, ref_type, release, times @ ..] =
        json::texts(&fields);
    let on_pull = is_pull == Some("true") || merged.is_some();
    let own = match (pull, issue, release, name) {
        (Some(number), ..) => Some(format!("pull_request:{number}")),
        (_, Some(number), ..) if on_pull => Some(format!("pull_request:{number}")),
        (_, Some(number), ..) => Some(format!("issue:{number}")),
        (_, _, Some(id), _) => Some(format!("release:{id}")),
        (_, _, _, Some(name)) => Some(format!("ref:{}", full_ref(name, ref_type))),
        _ => None,
    };
    let repository = repository.map(|id| format!("repository:{id}"));
    let entity = match &own {
        Some(own) => identity::entity(&[repository.as_deref(), Some(own)]),
        None => identity::entity(&[repository.as_deref()]),
    };
    let at = times.into_iter().flatten().find_map(|at| time_us(at, Unit::Seconds));
    Subject { action: action.unwrap_or_default().to_owned(), entity, position: Position::at(at) }
}

/// `create` and `delete` name a branch or tag shortly, `push` in full; they share one lane.
fn full_ref(name: &str, ref_type: Option<&str>) -> String {
    match ref_type {
        Some("branch") => format!("refs/heads/{name}"),
        Some("tag") => format!("refs/tags/{name}"),
        _ => name.to_owned(),
    }
}

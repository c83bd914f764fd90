//! What GitLab's events are about, and when they happened, by their kind.

use crate::Facts;

pub(super) const FACTS: Facts = Facts {
    title: "GitLab",
    proof: "`whsec_` secret: Standard Webhooks; other: token",
    key: "`Idempotency-Key`, else a digest",
    entity: "project and merge request, issue, ref ...",
    position: "`updated_at` of it",
};

pub(super) const FORWARDED: &[&str] = &[
    "x-gitlab-event",
    "x-gitlab-event-uuid",
    "x-gitlab-webhook-uuid",
    "x-gitlab-instance",
    "idempotency-key",
];

/// Kind, action and owner; then the ids and times that [`subject`] chooses from.
#[rustfmt::skip]
pub(super) const FIELDS: [&str; 22] = [
    "/object_kind", "/event_name", "/object_attributes/action", "/action", "/project/id",
    "/project_id", "/group_id",
    "/object_attributes/id", "/object_attributes/noteable_type", "/object_attributes/noteable_id",
    "/commit/id", "/build_id", "/deployment_id", "/ref", "/id", "/object_attributes/slug",
    "/object_attributes/updated_at", "/object_attributes/finished_at",
    "/object_attributes/created_at", "/build_finished_at", "/build_started_at",
    "/status_changed_at",
];

/// Label and id, and the texts where the time may stand.
type Subject<'f> = (Option<(&'f str, &'f str)>, [Option<&'f str>; 3]);

/// What an event is about, and where its time may stand. A note shares the lane of what it is
/// about; pushes have no time of their own, as commits carry their authors' clocks.
pub(super) fn subject<'f>(kind: &'f str, fields: [Option<&'f str>; 15]) -> Subject<'f> {
    let [id, noteable, noteable_id, commit, build, deployment, name, top_id, slug, times @ ..] =
        fields;
    let [updated, finished, created, build_end, build_start, status_changed] = times;
    let (label, id, times) = match kind {
        "push" | "tag_push" => ("ref", name, [None; 3]),
        "build" => ("build", build, [build_end, build_start, None]),
        "deployment" => ("deployment", deployment, [status_changed, None, None]),
        "release" => ("release", top_id, [None; 3]),
        "wiki_page" => ("wiki_page", slug, [None; 3]),
        "note" => match noteable.unwrap_or_default() {
            "MergeRequest" => ("merge_request", noteable_id, [updated, created, None]),
            "Issue" => ("issue", noteable_id, [updated, created, None]),
            "Snippet" => ("snippet", noteable_id, [updated, created, None]),
            _ => ("commit", commit, [updated, created, None]),
        },
        other => (other, id, [updated, finished, created]),
    };
    (id.map(|id| (label, id)), times)
}

//! What GitHub's events are about: one line for each kind whose order matters. An event that is not
//! listed shares the lane of its repository, organisation or installation.

use std::borrow::Cow;

use crate::Facts;

pub(super) const FACTS: Facts = Facts {
    title: "GitHub",
    proof: "HMAC-SHA256 hex; SHA-1 only if it is alone",
    key: "`X-GitHub-Delivery`",
    entity: "repository and pull request, issue, ref, run ...",
    position: "`updated_at` of it",
};

pub(super) const FORWARDED: &[&str] = &[
    "x-github-event",
    "x-github-delivery",
    "x-github-hook-id",
    "x-github-hook-installation-target-id",
    "x-github-hook-installation-target-type",
];

/// Of these events, what each is about: the name of its lane, its id, and where its time stands.
/// Reviews and comments share the lane of their pull request; its `updated_at` moves with them.
#[rustfmt::skip]
pub(super) const SUBJECTS: &[(&[&str], &str, &str, &[&str])] = &[
    (&["pull_request", "pull_request_review", "pull_request_review_comment",
       "pull_request_review_thread"],
     "pull_request", "/pull_request/number", &["/pull_request/updated_at"]),
    (&["issues", "issue_comment"], "issue", "/issue/number", &["/issue/updated_at"]),
    (&["push", "create", "delete"], "ref", "/ref", &["/repository/pushed_at"]),
    (&["check_run"], "check_run", "/check_run/id",
     &["/check_run/completed_at", "/check_run/started_at"]),
    (&["check_suite"], "check_suite", "/check_suite/id", &["/check_suite/updated_at"]),
    (&["workflow_run"], "workflow_run", "/workflow_run/id", &["/workflow_run/updated_at"]),
    (&["workflow_job"], "workflow_job", "/workflow_job/id", &["/workflow_job/completed_at",
     "/workflow_job/started_at"]),
    (&["discussion", "discussion_comment"], "discussion", "/discussion/number",
     &["/discussion/updated_at"]),
    (&["deployment"], "deployment", "/deployment/id", &["/deployment/updated_at"]),
    (&["deployment_status"], "deployment", "/deployment/id", &["/deployment_status/updated_at"]),
    (&["release"], "release", "/release/id", &["/release/updated_at", "/release/published_at"]),
    (&["milestone"], "milestone", "/milestone/number", &["/milestone/updated_at"]),
    (&["status"], "commit", "/sha", &["/updated_at"]),
    (&["code_scanning_alert"], "code_scanning_alert", "/alert/number", &["/alert/updated_at"]),
    (&["dependabot_alert"], "dependabot_alert", "/alert/number", &["/alert/updated_at"]),
    (&["secret_scanning_alert"], "secret_scanning_alert", "/alert/number", &["/alert/updated_at"]),
    (&["package"], "package", "/package/id", &["/package/updated_at"]),
    (&["registry_package"], "package", "/registry_package/id", &["/registry_package/updated_at"]),
    (&["installation", "installation_repositories"], "installation", "/installation/id",
     &["/installation/updated_at"]),
];

/// `create` and `delete` name a branch or tag shortly, `push` in full; they share one lane.
pub(super) fn full_ref<'i>(id: &'i str, ref_type: Option<&str>) -> Cow<'i, str> {
    match ref_type {
        Some("branch") => Cow::Owned(format!("refs/heads/{id}")),
        Some("tag") => Cow::Owned(format!("refs/tags/{id}")),
        _ => Cow::Borrowed(id),
    }
}

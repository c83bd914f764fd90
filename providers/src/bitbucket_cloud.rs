//! Bitbucket Cloud: an HMAC over the raw body. The header is called `X-Hub-Signature` as GitHub's
//! old one is, but it carries SHA-256.
//!
//! Source: support.atlassian.com/bitbucket-cloud, "Manage webhooks", "Event payloads" and
//! "Troubleshoot webhooks".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Repository and workspace webhooks of bitbucket.org.
pub(crate) struct BitbucketCloud;

const TAG: BodyTag = BodyTag::new("x-hub-signature", "sha256=", Encoding::Hex);

impl Provider for BitbucketCloud {
    fn name(&self) -> &'static str {
        "bitbucket_cloud"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Bitbucket Cloud",
            proof: "HMAC-SHA256 hex",
            key: "digest of hook, event, its time and body",
            entity: "repository and pull request or issue",
            position: "`updated_on` of it; unknown of pushes",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-event-key", "x-event-time", "x-hook-uuid", "x-request-uuid", "x-attempt-number"]
    }

    fn horizon_days(&self) -> u32 {
        // Tried twice more after a 5xx, within hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let kind = identity::header_text(proved.request(), "x-event-key");
        let pointers = [
            "/repository/uuid",
            "/pullrequest/id",
            "/issue/id",
            "/pullrequest/updated_on",
            "/issue/updated_on",
        ];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [repository, pull, issue, pull_at, issue_at] = json::texts(&fields);
        let repository = repository.map(|id| format!("repository:{id}"));
        let subject = [("pull_request", pull), ("issue", issue)]
            .iter()
            .find_map(|(label, id)| Some(format!("{label}:{}", (*id)?)));
        let entity = match &subject {
            Some(own) => identity::entity(&[repository.as_deref(), Some(own)]),
            // One push may change several branches, so that pushes share a lane.
            None => identity::entity(&[repository.as_deref()]),
        };
        let at = pull_at.or(issue_at).and_then(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key: key(proved.request()),
            kind: identity::kind(&[&kind]),
            entity,
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = match draft.kind.starts_with("pullrequest:") {
            true => include_str!("../bodies/bitbucket_cloud/pullrequest.json"),
            false => include_str!("../bodies/bitbucket_cloud/push.json"),
        };
        let body = example::filled(draft, text, &[]);
        let others = [("X-Event-Key", draft.kind), ("X-Request-UUID", draft.key)];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

/// `X-Request-UUID` is not said to stay equal over attempts, so the content stands for the
/// delivery, told from equal content by the time of the event, or else by that very id.
fn key(request: &Request<'_>) -> String {
    let text = |name| identity::header_text(request, name);
    let [hook, kind, at] = ["x-hook-uuid", "x-event-key", "x-event-time"].map(text);
    let at = if at.is_empty() { text("x-request-uuid") } else { at };
    identity::digest(&[hook.as_bytes(), kind.as_bytes(), at.as_bytes(), request.body])
}

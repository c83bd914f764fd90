//! Bitbucket Data Center and Server: an HMAC over the raw body. The button that tests a connection
//! sends no signature, so it is answered before any proof and nothing is recorded.
//!
//! Source: confluence.atlassian.com/bitbucketserver, "Event payload" and "Manage webhooks";
//! drone/go-scm.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Reply,
    Request, Secret, Signed, Verified, Window,
};
use crate::{example, identity, json};

/// Repository and project webhooks of a Bitbucket of one's own.
pub(crate) struct BitbucketDataCenter;

const TAG: BodyTag = BodyTag::new("x-hub-signature", "sha256=", Encoding::Hex);
const KIND: &str = "x-event-key";
const TEST: &str = "diagnostics:ping";

impl Provider for BitbucketDataCenter {
    fn name(&self) -> &'static str {
        "bitbucket_data_center"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Bitbucket Data Center",
            proof: "HMAC-SHA256 hex",
            key: "`X-Request-Id`",
            entity: "repository and pull request",
            position: "`/pullRequest/version`, `/date` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[KIND, "x-request-id"]
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried and nothing can be resent.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        let test = request.header(KIND) == Ok(TEST.as_bytes());
        let signed = TAG.is_in(request);
        if signed || !test { None } else { Handshake::answer(Reply::empty(200)) }
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the request: there is one for each event, as none is sent again.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/eventKey",
            "/date",
            "/pullRequest/id",
            "/pullRequest/version",
            "/pullRequest/toRef/repository/id",
            "/repository/id",
        ];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [kind, date, pull, version, target, repository] = json::texts(&fields);
        let header = identity::header_text(proved.request(), KIND);
        let kind = kind.unwrap_or(&header);
        if kind == TEST {
            return Ok(Vec::new());
        }
        let repository = target.or(repository).map(|id| format!("repository:{id}"));
        let pull = pull.map(|id| format!("pull_request:{id}"));
        let entity = match &pull {
            Some(own) => identity::entity(&[repository.as_deref(), Some(own)]),
            None => identity::entity(&[repository.as_deref()]),
        };
        Ok(vec![Event {
            key: identity::header_key(proved.request(), "x-request-id")?,
            kind: identity::kind(&[kind]),
            entity,
            // The version grows with every change of the pull request.
            position: Position {
                occurred_at_us: date.and_then(date_us),
                sequence: version.and_then(|version| version.parse().ok()),
            },
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = match draft.kind.starts_with("pr:") {
            true => include_str!("../bodies/bitbucket_data_center/pr.json"),
            false => include_str!("../bodies/bitbucket_data_center/push.json"),
        };
        let body = example::filled(draft, text, &[("/eventKey", draft.kind)]);
        let others = [("X-Event-Key", draft.kind), ("X-Request-Id", draft.key)];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

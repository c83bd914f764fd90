//! CircleCI: an HMAC over the raw body. The header is a list, so that other versions may be added;
//! only `v1` is known. No time is signed, so only the key stops a repeat.
//!
//! Source: circleci.com/docs, "Outbound webhooks".

use crate::sign::{self, Encoding, Hash, TagList};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Outbound webhooks of a project.
pub(crate) struct CircleCi;

const LIST: TagList = TagList::of("circleci-signature");

impl Provider for CircleCi {
    fn name(&self) -> &'static str {
        "circleci"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "CircleCI",
            proof: "HMAC-SHA256 hex",
            key: "`/id`",
            entity: "`/workflow/id`, else pipeline or project",
            position: "`/happened_at`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["circleci-event-type"]
    }

    fn horizon_days(&self) -> u32 {
        // Retried "at a later time"; no schedule is given.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claims = LIST.tags(request)?;
        let key = secret.expose().as_bytes();
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &claims)
    }

    /// The key is the id of the event, which CircleCI names for this very use.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers =
            ["/id", "/type", "/happened_at", "/workflow/id", "/pipeline/id", "/project/id"];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, happened_at, workflow, pipeline, project] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /id"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            // A job shares the lane of its workflow, so that the end of one is not seen first.
            entity: identity::entity(&[workflow.or(pipeline).or(project)]),
            position: Position::at(happened_at.and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/circleci/workflow.json");
        let body = example::filled(draft, text, &[("/type", draft.kind)]);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let headers = [
            ("Content-Type", "application/json"),
            ("circleci-event-type", draft.kind),
            ("circleci-signature", &format!("v1={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

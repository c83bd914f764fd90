//! GitHub: an HMAC over the raw body, JSON or form. Nothing in it carries a time, so a recorded
//! request stays good for ever and only the key stops a repeat.
//!
//! Source: docs.github.com, "Validating webhook deliveries" and "Webhook events and payloads".

mod subject;

use self::subject::{FACTS, FORWARDED, SUBJECTS, full_ref};
use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Repository and app webhooks of github.com and GitHub Enterprise.
pub(crate) struct GitHub;

impl Provider for GitHub {
    fn name(&self) -> &'static str {
        "github"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn forwarded(&self) -> &'static [&'static str] {
        FORWARDED
    }

    fn body_bytes_max(&self) -> usize {
        // GitHub sends payloads up to 25 MB and drops larger ones.
        26_214_400
    }

    fn horizon_days(&self) -> u32 {
        // Redelivery by hand or by API is offered for 3 days; nothing is retried by itself.
        7
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        // Where the SHA-256 header is present it decides alone: falling back would let anyone
        // downgrade to SHA-1.
        let (hash, header, prefix) = match request.header_if_present("x-hub-signature-256")? {
            None if request.header_if_present("x-hub-signature")?.is_some() => {
                (Hash::Sha1, "x-hub-signature", "sha1=")
            }
            _ => (Hash::Sha256, "x-hub-signature-256", "sha256="),
        };
        let claim = sign::claimed(request, header, prefix, Encoding::Hex)?;
        sign::prove_hmac(request, hash, secret.expose().as_bytes(), &[request.body], &[claim])
    }

    /// The key is `X-GitHub-Delivery`: the same on a redelivery, which a digest of the body could
    /// not tell from a second, equal event. GitHub always sends it, so without it is no event.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let key = identity::header_key(request, "x-github-delivery")?;
        let name = identity::header_text(request, "x-github-event");
        let body = json::view(request.header("content-type").ok(), request.body);
        let subject = SUBJECTS.iter().find(|(names, ..)| names.contains(&name.as_str()));
        let (label, id, times) = subject.map_or(("", "", &[][..]), |(_, a, b, c)| (a, b, c));
        let time = |index: usize| times.get(index).copied().unwrap_or_default();
        let pointers = [
            id,
            time(0),
            time(1),
            "/action",
            "/repository/id",
            "/organization/id",
            "/installation/id",
            "/issue/pull_request/url",
            "/ref_type",
        ];
        let read = json::fields(&body, pointers).unwrap_or_default();
        let [id, first, second, action, repository, organization, installation, pull, reference] =
            json::texts(&read);
        let label = if label == "issue" && pull.is_some() { "pull_request" } else { label };
        let id = id.map(|id| full_ref(id, reference));
        let owner = [
            ("repository", repository),
            ("organization", organization),
            ("installation", installation),
        ];
        let owner = owner.iter().find_map(|(name, id)| Some(format!("{name}:{}", (*id)?)));
        let entity = match id.map(|id| format!("{label}:{id}")) {
            Some(own) if label == "installation" => identity::entity(&[Some(&own)]),
            Some(own) => identity::entity(&[owner.as_deref(), Some(&own)]),
            None => identity::entity(&[owner.as_deref()]),
        };
        let at = [first, second].into_iter().flatten().find_map(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[&name, action.unwrap_or_default()]),
            entity,
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (event, action) = draft.kind.split_once('.').unwrap_or((draft.kind, ""));
        let body = draft.body.map_or_else(|| example::github(event, action), <[u8]>::to_vec);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-GitHub-Event", event),
            ("X-GitHub-Delivery", draft.key),
            ("X-Hub-Signature-256", &format!("sha256={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Docker Hub: it signs nothing. All that can be told of a sender is that it knows the URL, so the
//! secret is a token in its query: `https://.../hooks/SOURCE?token=SECRET`. That proves the sender
//! and not the content; treat an event as a hint to look at the registry.
//!
//! Source: docs.docker.com/docker-hub/repos/manage/webhooks.

use crate::sign::{self, Coverage};
use crate::text::{Unit, form_escaped, number_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of a repository.
pub(crate) struct DockerHub;

/// The older protocol wants an answer posted there. It is new for each push, and as anyone may
/// have written it, nothing is ever sent to it.
const VOLATILE: &[&str] = &["/callback_url"];

impl Provider for DockerHub {
    fn name(&self) -> &'static str {
        "docker_hub"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Docker Hub",
            proof: "none; `?token=` in the URL",
            key: "digest of repository, tag and time",
            entity: "repository and tag",
            position: "`/push_data/pushed_at` (1 s)",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried.
        2
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        match request.query_field("token") {
            Some(claim) if !claim.is_empty() => {
                sign::prove_token(request, secret.expose().as_bytes(), &claim)
            }
            _ => Err(Rejection::ProofMissing("the query has no token")),
        }
    }

    /// There is no id. A tag of a repository is pushed once in a second.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = ["/repository/repo_name", "/push_data/tag", "/push_data/pushed_at"];
        let fields = json::fields(proved.body(), pointers)?;
        let texts = json::texts(&fields);
        let key = match texts {
            [Some(repository), Some(tag), Some(at)] => {
                identity::digest(&[repository, tag, at].map(str::as_bytes))
            }
            _ => identity::content_digest(&[], proved.body(), VOLATILE),
        };
        let [repository, tag, pushed_at] = texts;
        let subject = repository.map(|name| format!("{name}:{}", tag.unwrap_or_default()));
        Ok(vec![Event {
            key,
            kind: identity::kind(&["push"]),
            entity: identity::entity(&[subject.as_deref()]),
            position: Position::at(pushed_at.and_then(seconds_us)),
            volatile: VOLATILE,
            part: None,
        }])
    }

    fn query(&self, secret: &Secret) -> Option<String> {
        let token = form_escaped(secret.expose().as_bytes());
        Some(format!("token={}", String::from_utf8(token).ok()?))
    }

    /// There is nothing to sign. The key asked for becomes the tag, which decides the real one.
    fn sign(&self, draft: &Draft<'_>, _: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!({
                "callback_url": "https://registry.hub.docker.com/u/example/letters/hook/1/",
                "push_data": { "pushed_at": 1_767_225_600, "pusher": "example", "tag": draft.key },
                "repository": { "repo_name": "example/letters", "status": "Active" },
            }))
        };
        let headers = example::headers(&[("Content-Type", "application/json")]);
        Some(Signed { headers, body: draft.body.map_or_else(sample, <[u8]>::to_vec) })
    }
}

/// A number of seconds, which Docker Hub used to write as `1.417566161e+09`.
fn seconds_us(text: &str) -> Option<i64> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return number_us(text, Unit::Seconds);
    };
    let places: usize = exponent.trim_start_matches('+').parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = places.checked_sub(fraction.len()).filter(|zeros| *zeros < 20)?;
    number_us(&format!("{whole}{fraction}{}", "0".repeat(zeros)), Unit::Seconds)
}

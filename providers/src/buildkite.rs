//! Buildkite: an HMAC over time and body, or, as a webhook is set up, the same secret in the clear.
//! Each request has exactly one of the two. The token proves the sender only; a request that has
//! a signature is judged by it alone.
//!
//! Source: buildkite/docs, "Webhooks": overview, signature, token and events.

use crate::sign::{self, Coverage, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, date_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Notification services of an organisation.
pub(crate) struct Buildkite;

const LIST: TagList =
    TagList { time: "timestamp=", tag: "signature=", ..TagList::of("x-buildkite-signature") };

/// The event, then what it is about and how that stood.
#[rustfmt::skip]
const FIELDS: [&str; 15] = [
    "/event", "/build/id", "/job/id", "/agent/id", "/build/state", "/job/state",
    "/agent/connection_state", "/build/created_at", "/build/scheduled_at", "/build/started_at",
    "/build/finished_at", "/job/created_at", "/job/started_at", "/job/finished_at",
    "/agent/created_at",
];

impl Provider for Buildkite {
    fn name(&self) -> &'static str {
        "buildkite"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Buildkite",
            proof: "HMAC-SHA256 hex over time and body, or token",
            key: "digest of event, what it is about, its state and times",
            entity: "build, else agent",
            position: "its latest time",
        }
    }

    /// The weaker of the two; a proof says which it was.
    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-buildkite-event"]
    }

    fn horizon_days(&self) -> u32 {
        // No retries are documented.
        2
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let key = secret.expose().as_bytes();
        if request.header_if_present(LIST.header)?.is_none() {
            return sign::prove_token(request, key, request.header("x-buildkite-token")?);
        }
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Seconds)?;
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, key, &parts, &claims)?.within(stamp, window)
    }

    /// There is no id. A build may finish twice, as its jobs can be run again, so the times are a
    /// part of the key; the rest of the body may show a later state than the event's. A ping has
    /// nothing to be told from another by, and is not recorded.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), FIELDS)?;
        let texts = json::texts(&fields);
        let [kind, build, job, agent, _, _, _, times @ ..] = texts;
        if kind == Some("ping") {
            return Ok(Vec::new());
        }
        let key = match build.or(job).or(agent) {
            Some(_) => identity::digest(&texts.map(|text| text.unwrap_or_default().as_bytes())),
            None => identity::digest(&[proved.body()]),
        };
        let [build, job, agent] = [("build", build), ("job", job), ("agent", agent)]
            .map(|(lane, id)| id.map(|id| format!("{lane}:{id}")));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            // A job shares the lane of its build.
            entity: identity::entity(&[build.or(job).or(agent).as_deref()]),
            position: Position::at(times.into_iter().flatten().filter_map(date_us).max()),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for becomes the id of the build, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/buildkite/build.json");
        let body = example::filled(draft, text, &[("/event", draft.kind)]);
        let body = json::with_text(&body, "/build/id", draft.key).unwrap_or(body);
        let time = draft.now_s.to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("timestamp={time},signature={}", Encoding::Hex.write(&tag));
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Buildkite-Event", draft.kind),
            ("X-Buildkite-Signature", &signature),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Sentry: an HMAC over the raw body, by the client secret of an integration. The time in its
//! header is not signed, so only the key stops a repeat.
//!
//! Source: docs.sentry.io, "Integration platform: webhooks".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, number_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Internal and public integrations of Sentry.
pub(crate) struct Sentry;

const TAG: BodyTag = BodyTag::new("sentry-hook-signature", "", Encoding::Hex);

const RESOURCE: &str = "sentry-hook-resource";
const TIME: &str = "sentry-hook-timestamp";

/// The action, and where the id of what an event is about may stand. Comments, alerts and errors
/// share the lane of their issue.
const FIELDS: [&str; 8] = [
    "/action",
    "/data/issue/id",
    "/data/issue_id",
    "/data/event/issue_id",
    "/data/error/issue_id",
    "/data/event/event_id",
    "/data/metric_alert/id",
    "/data/installation/uuid",
];

/// The lane of each.
const LANES: [&str; 7] =
    ["issue", "issue", "issue", "issue", "event", "metric_alert", "installation"];

impl Provider for Sentry {
    fn name(&self) -> &'static str {
        "sentry"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Sentry",
            proof: "HMAC-SHA256 hex",
            key: "`Request-ID`",
            entity: "issue, alert, installation ...",
            position: "`Sentry-Hook-Timestamp` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["request-id", RESOURCE, TIME]
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried by itself.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(1_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the request, made for each event. An issue has its own id in every
    /// event about it.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let [resource, at] = [RESOURCE, TIME].map(|name| identity::header_text(request, name));
        let fields = json::fields(request.body, FIELDS).unwrap_or_default();
        let [action, ids @ ..] = json::texts(&fields);
        let mut ids = LANES.iter().zip(ids);
        let entity = ids.find_map(|(lane, id)| Some(format!("{lane}:{}", id?)));
        Ok(vec![Event {
            key: identity::header_key(request, "request-id")?,
            kind: identity::kind(&[&resource, action.unwrap_or_default()]),
            entity: identity::entity(&[entity.as_deref()]),
            // Not the times inside: an issue that is resolved keeps that of its last error.
            position: Position::at(number_us(&at, Unit::Seconds)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (resource, action) = draft.kind.split_once('.').unwrap_or((draft.kind, "created"));
        let text = include_str!("../bodies/sentry/issue.json");
        let body = example::filled(draft, text, &[("/action", action)]);
        let others = [
            ("Request-ID", draft.key),
            ("Sentry-Hook-Resource", resource),
            ("Sentry-Hook-Timestamp", &draft.now_s.to_string()),
        ];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

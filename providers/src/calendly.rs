//! Calendly: an HMAC over time and body, both named in one header as Stripe does.
//!
//! Source: developer.calendly.com, "Webhook signatures" and "Webhook payload".

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, date_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook subscriptions of users and organisations.
pub(crate) struct Calendly;

const LIST: TagList = TagList::of("calendly-webhook-signature");

/// What Calendly's own samples allow, in seconds.
const TOLERANCE_S: i64 = 180;

impl Provider for Calendly {
    fn name(&self) -> &'static str {
        "calendly"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Calendly",
            proof: "HMAC-SHA256 hex over time and body",
            key: "digest of event, its time and what it is about",
            entity: "`/payload/scheduled_event/uri`, else `/payload/uri`",
            position: "`/payload/updated_at`, else `/created_at` (1 us)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 24 hours; then the subscription is disabled.
        4
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Seconds)?;
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window.narrowed(TOLERANCE_S))
    }

    /// There is no id. The event, the thing and the microsecond name one, and `created_by` tells
    /// the subscriptions of several people apart.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/event",
            "/created_at",
            "/created_by",
            "/payload/uri",
            "/payload/scheduled_event/uri",
            "/payload/updated_at",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [kind, created_at, created_by, uri, scheduled, updated_at] = json::texts(&fields);
        let key = match (kind, created_at, uri) {
            (Some(kind), Some(at), Some(uri)) => {
                let by = created_by.unwrap_or_default();
                identity::digest(&[kind, at, by, uri].map(str::as_bytes))
            }
            _ => identity::digest(&[proved.body()]),
        };
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[scheduled.or(uri)]),
            position: Position::at(updated_at.or(created_at).and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for becomes the id of an invitee, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/calendly/invitee.json");
        let body = example::filled(draft, text, &[("/event", draft.kind)]);
        let uri =
            format!("https://api.calendly.com/scheduled_events/EXAMPLE/invitees/{}", draft.key);
        let body = json::with_text(&body, "/payload/uri", &uri).unwrap_or(body);
        let time = draft.now_s.to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("t={time},v1={}", Encoding::Hex.write(&tag));
        let headers =
            [("Content-Type", "application/json"), ("Calendly-Webhook-Signature", &*signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

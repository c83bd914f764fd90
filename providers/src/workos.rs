//! WorkOS: an HMAC over time and body, both named in one header as Stripe does, but the time is in
//! milliseconds and a space follows the comma.
//!
//! Source: workos.com/docs, "Webhooks"; workos/workos-node, workos/workos-go.

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, date_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhook endpoints of a WorkOS environment.
pub(crate) struct WorkOs;

const LIST: TagList = TagList::of("workos-signature");

/// What WorkOS's own libraries allow, in seconds.
const TOLERANCE_S: i64 = 180;

impl Provider for WorkOs {
    fn name(&self) -> &'static str {
        "workos"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "WorkOS",
            proof: "HMAC-SHA256 hex over time and body",
            key: "`/id`",
            entity: "`/data/id`, else group or user",
            position: "`/data/updated_at`, else `/created_at` (1 ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried over 3 days.
        5
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Millis)?;
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window.narrowed(TOLERANCE_S))
    }

    /// The key is the id of the event, which is also that of the events API.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/id",
            "/event",
            "/data/updated_at",
            "/created_at",
            "/data/id",
            "/data/group/id",
            "/data/user/id",
            "/data/user_id",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, updated_at, created_at, subjects @ ..] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /id"))?;
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[subjects.into_iter().flatten().next()]),
            position: Position::at(updated_at.or(created_at).and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/workos/user.json");
        let body = example::filled(draft, text, &[("/event", draft.kind)]);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("t={time}, v1={}", Encoding::Hex.write(&tag));
        let headers = [("Content-Type", "application/json"), ("WorkOS-Signature", &*signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

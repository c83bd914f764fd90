//! Linear: an HMAC over the raw body. The time is inside the body, in milliseconds, and is read
//! once the signature is proved; the header of the same purpose is not signed and is ignored.
//!
//! Source: linear.app/developers/webhooks; linear/linear, packages/sdk.

use serde_json::Value;

use crate::body_tag::BodyTag;
use crate::sign::{Encoding, Stamp};
use crate::text::{Unit, date_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Workspaces of Linear.
pub(crate) struct Linear;

const TAG: BodyTag = BodyTag::new("linear-signature", "", Encoding::Hex);

/// Linear asks for a minute. A retry after hours passes only if it is stamped anew, which is not
/// said; an operator who finds it is not may choose a wide tolerance.
const TOLERANCE_S: i64 = 60;

impl Provider for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Linear",
            proof: "HMAC-SHA256 hex; time in the body",
            key: "`Linear-Delivery`",
            entity: "`/data/id`",
            position: "`/createdAt`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["linear-delivery", "linear-event"]
    }

    fn horizon_days(&self) -> u32 {
        // Retried after a minute, an hour and 6 hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let proved = TAG.verify(request, secret.expose().as_bytes())?;
        let anywhere = || {
            let [time] = json::fields(request.body, ["/webhookTimestamp"]).ok()?;
            time.map(|time| time.as_str().to_owned())
        };
        let time = json::last_member(request.body, "webhookTimestamp").or_else(anywhere);
        let time = time.ok_or(Rejection::ProofMissing("the body has no webhookTimestamp"))?;
        let stamp = Stamp::read("webhookTimestamp", time.as_bytes(), Unit::Millis)
            .map_err(|_| Rejection::ProofMalformed("webhookTimestamp is no plain number"))?;
        proved.within(stamp, window.narrowed(TOLERANCE_S))
    }

    /// The key is `Linear-Delivery`, a UUID that stays equal over retries. `/webhookId` is the
    /// webhook's, and the time of sending changes with every attempt.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = ["/type", "/action", "/data/id", "/createdAt", "/data/updatedAt"];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [kind, action, id, created_at, updated_at] = json::texts(&fields);
        let header = identity::header_text(proved.request(), "linear-event");
        // The time of the action: what is removed keeps the `updatedAt` of its last change.
        let at = created_at.or(updated_at).and_then(date_us);
        Ok(vec![Event {
            key: identity::header_key(proved.request(), "linear-delivery")?,
            kind: identity::kind(&[kind.unwrap_or(&header), action.unwrap_or_default()]),
            entity: identity::entity(&[id]),
            position: Position::at(at),
            volatile: &["/webhookTimestamp"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (kind, action) = draft.kind.split_once('.').unwrap_or((draft.kind, "update"));
        let text = include_str!("../bodies/linear/issue.json");
        let body = example::filled(draft, text, &[("/type", kind), ("/action", action)]);
        let mut body: Value = serde_json::from_slice(&body).ok()?;
        let time = draft.now_s.saturating_mul(1000);
        body.as_object_mut()?.insert("webhookTimestamp".to_owned(), time.into());
        let body = example::written(body);
        let others = [("Linear-Delivery", draft.key), ("Linear-Event", kind)];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

//! Ghost: an HMAC-SHA256 over the raw body and then the time, in milliseconds. Versions before 5
//! signed the body alone; theirs are refused, as the time beside such a signature is anyone's.
//!
//! Source: TryGhost/Ghost, `core/server/services/webhooks/webhook-trigger.js`.

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, date_us, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of a custom integration that has a secret.
pub(crate) struct Ghost;

const LIST: TagList = TagList { tag: "sha256=", ..TagList::of("x-ghost-signature") };

impl Provider for Ghost {
    fn name(&self) -> &'static str {
        "ghost"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Ghost",
            proof: "HMAC-SHA256 hex over body and time",
            key: "a digest of time and body",
            entity: "resource and `/*/current/id`",
            position: "`/*/current/updated_at`, else the signed time (1 ms)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["content-version"]
    }

    fn horizon_days(&self) -> u32 {
        // Five retries within a minute, of one and the same request.
        1
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(2_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Millis)?;
        let parts = [request.body, time];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window)
    }

    /// There is no id. A retry repeats the request with its time, while two events of equal bodies
    /// have two times. The name of the event is nowhere: only its resource is, and whether it is
    /// gone.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let (time, _) = LIST.timed(proved.request()).unwrap_or_default();
        let sent_at = std::str::from_utf8(time).ok().and_then(|at| time_us(at, Unit::Millis));
        let members = json::members(proved.body())?;
        let (name, resource) =
            members.first().map_or(("site", &b"{}"[..]), |one| (one.name.as_str(), one.json));
        let pointers = ["/current/id", "/current/updated_at", "/previous/id"];
        let fields = json::fields(resource, pointers)?;
        let [current, updated_at, previous] = json::texts(&fields);
        let is_gone = current.is_none() && previous.is_some();
        Ok(vec![Event {
            key: identity::digest(&[time, proved.body()]),
            kind: identity::kind(&[name, if is_gone { "deleted" } else { "" }]),
            entity: identity::entity(&[Some(name), current.or(previous)]),
            position: Position::at(updated_at.and_then(date_us).or(sent_at)),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for becomes the id of the resource, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let resource = draft.kind.split('.').next().unwrap_or_default();
        let sample = || {
            let current = serde_json::json!({ "id": draft.key, "title": "The post house",
                "status": "published", "updated_at": example::date(draft.now_s) });
            let previous = serde_json::json!({ "status": "draft" });
            example::written(serde_json::json!({ resource:
                { "current": current, "previous": previous } }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let place = format!("/{resource}/current/id");
        let body = json::with_text(&body, &place, draft.key).unwrap_or(body);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body, time.as_bytes()])?;
        let value = format!("sha256={}, t={time}", Encoding::Hex.write(&tag));
        let headers = [("Content-Type", "application/json"), (LIST.header, &*value)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

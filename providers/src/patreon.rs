//! Patreon: an HMAC with MD5 over the raw body, which is all it offers. HMAC does not rest on what
//! is broken in MD5, but it is the weakest proof of those that cover a body.
//!
//! Source: docs.patreon.com, "Webhooks".

use crate::body_tag::BodyTag;
use crate::sign::{Encoding, Hash};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of a creator's client.
pub(crate) struct Patreon;

const TAG: BodyTag = BodyTag::new("x-patreon-signature", "", Encoding::Hex).with(Hash::Md5);

const KIND: &str = "x-patreon-event";

impl Provider for Patreon {
    fn name(&self) -> &'static str {
        "patreon"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Patreon",
            proof: "HMAC-MD5 hex",
            key: "digest of event and body",
            entity: "`/data/type` and `/data/id`",
            position: "unknown",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[KIND]
    }

    fn horizon_days(&self) -> u32 {
        // Failed ones are queued and sent again; for how long is not said.
        7
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// There is no id. The event and all of the body stand for it: a member's update and its
    /// deletion may have equal bodies.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let kind = identity::header_text(proved.request(), KIND);
        let fields = json::fields(proved.body(), ["/data/type", "/data/id"])?;
        let [what, id] = json::texts(&fields);
        let subject = id.map(|id| format!("{}:{id}", what.unwrap_or("data")));
        Ok(vec![Event {
            key: identity::digest(&[kind.as_bytes(), proved.body()]),
            kind: identity::kind(&[&kind]),
            entity: identity::entity(&[subject.as_deref()]),
            position: Position::default(),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for becomes the id of the member, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = example::filled(draft, include_str!("../bodies/patreon/member.json"), &[]);
        let body = json::with_text(&body, "/data/id", draft.key).unwrap_or(body);
        let others = [("X-Patreon-Event", draft.kind)];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

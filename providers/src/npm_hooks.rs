//! npm registry hooks: an HMAC over the raw body. npm makes no new hooks, but registries that
//! speak its protocol do.
//!
//! Source: npm/npm-hook-receiver; docs.npmjs.com, "Hooks".

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Hooks of packages, scopes and owners.
pub(crate) struct NpmHooks;

const TAG: BodyTag = BodyTag::new("x-npm-signature", "sha256=", Encoding::Hex);

impl Provider for NpmHooks {
    fn name(&self) -> &'static str {
        "npm_hooks"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "npm hooks",
            proof: "HMAC-SHA256 hex",
            key: "digest of the body",
            entity: "`/name`",
            position: "`/time` (1 ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // A few retries, of which nothing more is said.
        4
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// There is no id. The body has the millisecond of the event, so that two differ, and nothing
    /// that counts attempts.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/event", "/name", "/time"])?;
        let [kind, name, time] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::digest(&[proved.body()]),
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[name]),
            position: Position::at(time.and_then(|at| time_us(at, Unit::Millis))),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for becomes a version of the package, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/npm_hooks/package.json");
        let body = example::filled(draft, text, &[("/event", draft.kind)]);
        let body = json::with_text(&body, "/version", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

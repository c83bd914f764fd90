//! Vercel: an HMAC with SHA-1 over the raw body, which is all it offers. The secret is that of the
//! webhook or the client secret of an integration.
//!
//! Source: vercel.com/docs, "Webhooks" and "Webhooks API reference".

use crate::body_tag::BodyTag;
use crate::sign::{Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of an account or an integration.
pub(crate) struct Vercel;

const TAG: BodyTag = BodyTag::new("x-vercel-signature", "", Encoding::Hex).with(Hash::Sha1);

impl Provider for Vercel {
    fn name(&self) -> &'static str {
        "vercel"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Vercel",
            proof: "HMAC-SHA1 hex",
            key: "`/id`",
            entity: "deployment, else project, configuration or domain",
            position: "`/createdAt` (1 ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for up to 24 hours.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is the id of the event, which every retry carries.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/id",
            "/type",
            "/createdAt",
            "/payload/deployment/id",
            "/payload/project/id",
            "/payload/configuration/id",
            "/payload/domain/name",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, created_at, subjects @ ..] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /id"))?;
        let at = created_at.and_then(|at| time_us(at, Unit::Millis));
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[subjects.into_iter().flatten().next()]),
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/vercel/deployment.json");
        let body = example::filled(draft, text, &[("/type", draft.kind)]);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

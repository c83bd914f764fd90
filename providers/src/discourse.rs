//! Discourse: an HMAC over the raw body, which is JSON even where its media type says form. No
//! time is signed, so only the key stops a repeat.
//!
//! Source: discourse/discourse, app/jobs/regular/emit_web_hook_event.rb.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of a Discourse forum.
pub(crate) struct Discourse;

const TAG: BodyTag = BodyTag::new("x-discourse-event-signature", "sha256=", Encoding::Hex);

const INSTANCE: &str = "x-discourse-instance";
const TYPE: &str = "x-discourse-event-type";
const KIND: &str = "x-discourse-event";

impl Provider for Discourse {
    fn name(&self) -> &'static str {
        "discourse"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Discourse",
            proof: "HMAC-SHA256 hex",
            key: "digest of instance, event and body",
            entity: "instance, type and id",
            position: "`updated_at` of it",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[INSTANCE, "x-discourse-event-id", TYPE, KIND]
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; a topic comes with its first posts.
        4 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Retried, where the forum is set so, four times over 3 hours.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(60_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// `X-Discourse-Event-Id` is not the key: it names the attempt and changes with every retry,
    /// while the body stays. A ping has no id and no content, and is not recorded.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let [instance, what, kind] =
            [INSTANCE, TYPE, KIND].map(|name| identity::header_text(proved.request(), name));
        // An object stands under the name of its type; a like names the post that is liked.
        let pointers = [
            "/ping".to_owned(),
            format!("/{what}/id"),
            format!("/{what}/post/id"),
            format!("/{what}/updated_at"),
        ];
        let fields = json::fields_at(proved.body(), &pointers)?;
        let text = |index: usize| fields.get(index)?.as_ref().map(json::Scalar::as_str);
        if text(0).is_some() {
            return Ok(Vec::new());
        }
        let subject = text(1).or(text(2)).map(|id| format!("{what}:{id}"));
        let parts = [instance.as_bytes(), what.as_bytes(), kind.as_bytes(), proved.body()];
        Ok(vec![Event {
            key: identity::digest(&parts),
            kind: identity::kind(&[&what, &kind]),
            entity: identity::entity(&[Some(&instance), subject.as_deref()]),
            position: Position::at(text(3).and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    /// The key asked for is put beside the post, so that two trials are two events.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let (what, kind) = draft.kind.split_once('.').unwrap_or(("post", draft.kind));
        let body = example::filled(draft, include_str!("../bodies/discourse/post.json"), &[]);
        let body = json::with_text(&body, "/trial", draft.key).unwrap_or(body);
        let others = [
            ("X-Discourse-Instance", "https://forum.example.com"),
            ("X-Discourse-Event-Id", "1"),
            ("X-Discourse-Event-Type", what),
            ("X-Discourse-Event", kind),
        ];
        TAG.sign(secret.expose().as_bytes(), body, &others)
    }
}

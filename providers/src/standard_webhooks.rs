//! Standard Webhooks and its adopters: an HMAC (`v1`) or Ed25519 (`v1a`) signature over id, time
//! and body, in a list separated by spaces while keys are rotated. Svix's brand of it differs in
//! the names of the headers only.
//!
//! Source: the specification and libraries at standard-webhooks/standard-webhooks; docs.svix.com.

use crate::json;
use crate::text::time_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity};

mod family;
mod key;
mod trio;

pub(crate) use family::{
    CLERK, OPENAI, RESEND, STANDARD_WEBHOOKS, SUPABASE_AUTH, SVIX, StandardWebhooks,
};
pub(crate) use key::Key;
pub(crate) use trio::{SVIX_TRIO, Trio, WEBHOOK};

impl Provider for StandardWebhooks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn facts(&self) -> Facts {
        self.facts
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["webhook-id", "svix-id"]
    }

    fn horizon_days(&self) -> u32 {
        self.horizon_days
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        self.answer_deadline_ms
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        Key::fault(secret, self.prefix_v1)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        self.trio(request)?.verify(request, &Key::read(secret, self.prefix_v1)?, window)
    }

    /// The key is the signed id, which the specification keeps equal over every retry and resend.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let key = identity::header_key(request, self.trio(request).unwrap_or(self.trios[0]).id)?;
        let fields =
            json::fields(request.body, ["/type", self.entity, self.times[0], self.times[1]])
                .unwrap_or_default();
        let [kind, entity, first, second] = json::texts(&fields);
        let at = [first, second].into_iter().flatten().find_map(|at| time_us(at, self.unit));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[entity]),
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let envelope = || example::envelope(draft.kind, self.entity);
        let body = draft.body.map_or_else(envelope, <[u8]>::to_vec);
        let key = Key::read(secret, self.prefix_v1).ok()?;
        let mut headers = example::headers(&[("Content-Type", "application/json")]);
        headers.extend(self.trios[0].sign(draft, &key, &body)?);
        Some(Signed { headers, body })
    }
}

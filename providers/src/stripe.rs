//! Stripe: an HMAC over time and body, several signatures in one header while a secret is rolled.
//!
//! The key of the HMAC is the whole text of the secret, `whsec_` included. It looks like the
//! base64 of Standard Webhooks and is not.
//! Source: docs.stripe.com, "Verify webhook signatures manually"; stripe-go, stripe-python.

use crate::sign::{self, Encoding, Hash, Stamp, TagList};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window, example, identity, json,
};

/// Endpoints of a Stripe account or of Connect, snapshot (`v1`) and thin (`v2`) events alike.
pub(crate) struct Stripe;

const LIST: TagList = TagList::of("stripe-signature");

impl Provider for Stripe {
    fn name(&self) -> &'static str {
        "stripe"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Stripe",
            proof: "HMAC-SHA256 hex over time and body",
            key: "`/id`",
            entity: "account and `/data/object/id`",
            position: "`/created` (1 s)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 3 days; the events API hands out events of the last 30 for a resend.
        35
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        if secret.expose().starts_with("v1,") {
            return Some("starts with v1, - did you mean whsec_...?".to_owned());
        }
        secret.api_key_fault()
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        // Other schemes, such as `v0` of test mode, are skipped as Stripe's own libraries do.
        let (time, claims) = LIST.timed(request)?;
        let stamp = Stamp::read(LIST.header, time, Unit::Seconds)?;
        let parts = [time, b".", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &claims)?
            .within(stamp, window)
    }

    /// The key is the event's own `/id`: every retry and resend carries it, while the header is
    /// made anew. `/pending_webhooks` counts down from one attempt to the next.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/id",
            "/type",
            "/created",
            "/account",
            "/context",
            "/data/object/id",
            "/related_object/id",
        ];
        let fields = json::fields(proved.body(), pointers)
            .map_err(|_| Rejection::Unreadable("the body is not JSON"))?;
        let [id, kind, created, account, context, object, related] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /id"))?;
        let object = object.or(related);
        // Ids are unique within an account only; `context` names the account in thin events.
        let entity = match account.or(context) {
            Some(account) => identity::entity(&[Some(account), object]),
            None => identity::entity(&[object]),
        };
        // One second of resolution and many ties: equal times say nothing about the order.
        let occurred_at_us = created.and_then(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity,
            position: Position::at(occurred_at_us),
            volatile: &["/pending_webhooks"],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body =
            draft.body.map_or_else(|| example::stripe(draft.kind, draft.now_s), <[u8]>::to_vec);
        let body = json::with_text(&body, "/id", draft.key).unwrap_or(body);
        let time = draft.now_s.to_string();
        let parts = [time.as_bytes(), b".", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = format!("t={time},v1={}", Encoding::Hex.write(&tag));
        let headers =
            [("Content-Type", "application/json; charset=utf-8"), ("Stripe-Signature", &signature)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Wise: an RSA signature over the raw body, under one of its two published keys: that of the
//! sandbox or that of production. The older header with SHA-1 is not read.
//!
//! Source: docs.wise.com, "Webhooks: event handling"; transferwise/digital-signatures-examples.

use crate::sign::{self, Encoding, Hash, PublicKey};
use crate::text::{Unit, time_us};
use crate::{
    Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Verified, Window,
    identity, json,
};

/// Profile and application subscriptions of Wise.
pub(crate) struct Wise;

/// The published key, in PEM or its base64 alone.
fn public_key(secret: &Secret) -> Option<PublicKey> {
    match secret.expose().starts_with("-----") {
        true => PublicKey::from_pem(secret.expose()),
        false => PublicKey::from_der(&Encoding::Base64.read_secret(secret.expose())?),
    }
}

impl Provider for Wise {
    fn name(&self) -> &'static str {
        "wise"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Wise",
            proof: "RSA-SHA256 over the body",
            key: "`X-Delivery-Id`",
            entity: "`/data/resource` type and id",
            position: "`/data/occurred_at` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-delivery-id", "x-test-notification"]
    }

    fn horizon_days(&self) -> u32 {
        // Up to 25 tries over two weeks.
        21
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        public_key(secret).is_none().then(|| "is not a public key that Wise publishes".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let key = public_key(secret)
            .ok_or(Rejection::SecretUnusable("it is not a public key in PEM or base64"))?;
        let claim = sign::claimed(request, "x-signature-sha256", "", Encoding::Base64)?;
        sign::prove_public(request, &key, Hash::Sha256, &[request.body], &claim)
    }

    /// The key is the delivery's id, kept over retries; the body's `sent_at` is made anew.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let key = identity::header_key(proved.request(), "x-delivery-id")?;
        let pointers =
            ["/event_type", "/data/resource/type", "/data/resource/id", "/data/occurred_at"];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [kind, resource, id, at] = json::texts(&fields);
        let about = resource.zip(id).map(|(resource, id)| format!("{resource}:{id}"));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[about.as_deref()]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &["/sent_at"],
            part: None,
        }])
    }
}

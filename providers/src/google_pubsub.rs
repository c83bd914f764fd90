//! Google Cloud Pub/Sub push: a token of RS256 that Google gives the service account of the
//! subscription. It names sender and audience and says nothing of the body. The secret is
//! `AUDIENCE ACCOUNT`, with a space between, as they are set at the subscription.
//!
//! Source: cloud.google.com/pubsub/docs/authenticate-push-subscriptions and payload-unwrapping.

mod message;

use self::message::{FACTS, event};
use crate::sign::{self, Algorithm, Coverage, Jwt};
use crate::{
    Event, Facts, KeyWanted, Keys, NoKeys, Proved, Provider, Rejection, Request, Secret, Verified,
    Window,
};

/// Push subscriptions with authentication, payloads wrapped or unwrapped.
pub(crate) struct GooglePubSub;

const CERTIFICATES: &str = "https://www.googleapis.com/oauth2/v3/certs";
const ISSUERS: &[&str] = &["https://accounts.google.com", "accounts.google.com"];

impl Provider for GooglePubSub {
    fn name(&self) -> &'static str {
        "google_pubsub"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            "x-goog-pubsub-subscription-name",
            "x-goog-pubsub-message-id",
            "x-goog-pubsub-publish-time",
            "x-goog-pubsub-ordering-key",
        ]
    }

    fn body_bytes_max(&self) -> usize {
        // Messages of 10 MB, in base64 where they are wrapped.
        16 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Sent again until acknowledged or no longer kept: 7 days, or up to 31 if so set.
        35
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let form = "is not of the form AUDIENCE ACCOUNT, with a space between";
        secret.expose().rsplit_once(' ').is_none().then(|| form.to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        self.verify_with_keys(request, secret, window, &NoKeys)
    }

    fn verify_with_keys<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
        keys: &dyn Keys,
    ) -> Verified<'r> {
        let (audience, account) = secret
            .expose()
            .rsplit_once(' ')
            .ok_or(Rejection::SecretUnusable("it is not of the form AUDIENCE ACCOUNT"))?;
        let jwt = Jwt::read(request.bearer()?, Algorithm::Rs256)?;
        let id = jwt.kid.clone().ok_or(Rejection::ProofMalformed("the token names no key"))?;
        let wanted = KeyWanted::Listed { endpoint: CERTIFICATES, id: id.clone(), post: None };
        let document = keys.get(&wanted).ok_or(Rejection::KeyWanted(wanted))?;
        let key = sign::published(document, &id)
            .ok_or(Rejection::KeyUnusable("Google lists no key of this id"))?;
        let claims = jwt
            .prove_public(request, &key)?
            .demand("/iss", ISSUERS)?
            .demand("/aud", &[audience])?
            .demand("/email", &[account])?
            .demand("/email_verified", &["true"])?;
        Ok(claims.current(window)?.proof())
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        Ok(vec![event(proved)?])
    }
}

//! Adyen: for payments, an HMAC over eight fields of each item, in the item itself; for platforms,
//! management and banking, an HMAC over the raw body in a header. Keys are hexadecimal. `verify`
//! reads only those fields of the body, and a header, where there is one, decides alone.
//!
//! Source: docs.adyen.com, "Verify HMAC signatures"; adyen-python-api-library,
//! adyen-node-api-library.

mod item;
mod platform;

use self::item::items;
use crate::sign::{self, Coverage, Encoding, Hash};
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Reply, Request, Secret, Signed, Verified,
    Window, example, json,
};

/// Webhooks of an Adyen account, as JSON or as a form.
pub(crate) struct Adyen;

const HEADER: &str = "hmacsignature";

fn key(secret: &Secret) -> Result<Vec<u8>, Rejection> {
    let key = Encoding::Hex.read_secret(secret.expose());
    key.ok_or(Rejection::SecretUnusable("it is not the hexadecimal HMAC key of the webhook"))
}

fn is_platform(request: &Request<'_>) -> bool {
    request.header_lines(HEADER).next().is_some()
}

impl Provider for Adyen {
    fn name(&self) -> &'static str {
        "adyen"
    }

    fn facts(&self) -> Facts {
        item::FACTS
    }

    /// The weaker of the two: amounts and references of payments, but not the reason of a refusal.
    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Queued and retried for up to 30 days.
        35
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(10_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        key(secret).is_err().then(|| "is not the hexadecimal HMAC key of the webhook".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let key = key(secret)?;
        if is_platform(request) {
            let claim = sign::claimed(request, HEADER, "", Encoding::Base64)?;
            return sign::prove_hmac(request, Hash::Sha256, &key, &[request.body], &[claim]);
        }
        let mut outcome = Err(Rejection::ProofMissing("the body has no notification items"));
        for item in items(request.body)? {
            let claim = item.claim()?;
            let parts = item.signed();
            outcome = sign::prove_hmac(request, Hash::Sha256, &key, &parts, &[claim]);
            if outcome.is_err() {
                break;
            }
        }
        outcome
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        if is_platform(proved.request()) {
            return Ok(vec![platform::event(proved.body())]);
        }
        let items = items(proved.body())
            .map_err(|_| Rejection::Unreadable("the body has no notification items"))?;
        let alone = items.len() == 1;
        items.into_iter().map(|item| item.event(alone)).collect()
    }

    /// Older webhooks take nothing else for an answer.
    fn accepted(&self) -> Option<Reply> {
        Some(Reply::text(200, "[accepted]"))
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| item::sample(draft), <[u8]>::to_vec);
        let at = "/notificationItems/0/NotificationRequestItem";
        let body = json::with_text(&body, &format!("{at}/pspReference"), draft.key)?;
        let parts = items(&body).ok()?;
        let tag = sign::hmac(Hash::Sha256, &key(secret).ok()?, &parts.first()?.signed())?;
        let signature = Encoding::Base64.write(&tag);
        let at = format!("{at}/additionalData/hmacSignature");
        let body = json::with_text(&body, &at, &signature)?;
        Some(Signed { headers: example::headers(&[("Content-Type", "application/json")]), body })
    }
}

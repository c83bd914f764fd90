//! Which of GitLab's several ids is the delivery.

use crate::sign::Coverage;
use crate::standard_webhooks::WEBHOOK;
use crate::{Proved, Rejection, identity};

/// `Idempotency-Key` stays equal over retries; under a signing token it is the signed
/// `webhook-id`. Never `X-Gitlab-Event-UUID` alone, which recursive hooks share, nor
/// `X-Gitlab-Webhook-UUID`, which names the hook. Older GitLab sends no such key: then the
/// two UUIDs and the body together stand for the delivery.
pub(super) fn key(proved: &Proved<'_>) -> Result<String, Rejection> {
    let request = proved.request();
    if proved.coverage() == Coverage::Body {
        return identity::header_key(request, WEBHOOK.id);
    }
    if request.header_if_present("idempotency-key") != Ok(None) {
        return identity::header_key(request, "idempotency-key");
    }
    let [hook, event] = ["x-gitlab-webhook-uuid", "x-gitlab-event-uuid"]
        .map(|name| identity::header_text(request, name));
    Ok(identity::digest(&[hook.as_bytes(), event.as_bytes(), request.body]))
}

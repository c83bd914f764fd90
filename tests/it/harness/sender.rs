//! Signs as the senders do, by an implementation that shares nothing with `providers/`.

use super::wire::Request;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use ring::hmac::{self, Algorithm, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256};
use std::time::{SystemTime, UNIX_EPOCH};

/// The secrets of the sources, and the environment variables that a server finds them in.
pub const SECRETS: [(&str, &str); 8] = [
    ("GITHUB_SECRET", GITHUB),
    ("STRIPE_SECRET", STRIPE),
    ("STANDARD_WEBHOOKS_SECRET", STANDARD),
    ("SLACK_SECRET", SLACK),
    ("SHOPIFY_SECRET", SHOPIFY),
    ("GITLAB_SECRET", GITLAB),
    ("OTHER_SECRET", OTHER),
    ("DESTINATION_SECRET", DESTINATION),
];

/// The secret of GitHub's source; of home-made senders too.
pub const GITHUB: &str = "gh-cedar-lantern-41";
/// The secret of Stripe's source.
pub const STRIPE: &str = "whsec_aurora9Q2mKx7TestOnly";
/// The secret of the source that follows Standard Webhooks.
pub const STANDARD: &str = "whsec_aGFyYm9yLXF1YXJ0ei1sYW50ZXJuLTI0";
/// The secret of Slack's source.
pub const SLACK: &str = "8c1f0b6e2d9a4e7f93b5a1c07d6e4f22";
/// The secret of Shopify's source.
pub const SHOPIFY: &str = "shpss_4b7f2e1a9c8d5e60";
/// The token of GitLab's source.
pub const GITLAB: &str = "gl-token-marble-09";
/// A second secret, of GitHub's form.
pub const OTHER: &str = "gh-otter-velvet-77";
/// What a destination wants in its `Authorization` header.
pub const DESTINATION: &str = "Bearer dest-secret-9";

/// A push, signed by GitHub.
pub fn github(key: &str, body: impl Into<Vec<u8>>) -> Request {
    github_by(GITHUB, key, "push", body)
}

/// An event of GitHub's, signed with any secret.
pub fn github_by(secret: &str, key: &str, event: &str, body: impl Into<Vec<u8>>) -> Request {
    let body = body.into();
    let signature = format!("sha256={}", sha256_hex(secret, &[&body]));
    Request::post(body)
        .header("Content-Type", "application/json")
        .header("X-GitHub-Event", event)
        .header("X-GitHub-Delivery", key)
        .header("X-Hub-Signature-256", signature)
}

/// An event of Stripe's, signed now. The key is in the body, as its `id`.
pub fn stripe(body: impl Into<Vec<u8>>) -> Request {
    stripe_at(now(), body)
}

/// An event of Stripe's that says it was signed at a time.
pub fn stripe_at(time: i64, body: impl Into<Vec<u8>>) -> Request {
    let body = body.into();
    let signature = format!("t={time},v1={}", stripe_v1(STRIPE, time, &body));
    Request::post(body)
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Stripe-Signature", signature)
}

/// The `v1` of a Stripe signature. The whole text of the secret is the key.
pub fn stripe_v1(secret: &str, time: i64, body: &[u8]) -> String {
    sha256_hex(secret, &[time.to_string().as_bytes(), b".", body])
}

/// A message of Standard Webhooks, signed now.
pub fn standard(id: &str, body: impl Into<Vec<u8>>) -> Request {
    let key = STANDARD.strip_prefix("whsec_").expect("its prefix");
    let key = BASE64_STANDARD_NO_PAD.decode(key).expect("base64");
    standard_by(&key, id, body)
}

/// A message of Standard Webhooks, signed now with the bytes of any key.
pub fn standard_by(key: &[u8], id: &str, body: impl Into<Vec<u8>>) -> Request {
    let (body, time) = (body.into(), now().to_string());
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", &body];
    let signature = format!("v1,{}", BASE64_STANDARD.encode(mac(HMAC_SHA256, key, &parts)));
    Request::post(body)
        .header("Content-Type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", time)
        .header("webhook-signature", signature)
}

/// An event of Slack's, signed at a time.
pub fn slack_at(time: i64, body: impl Into<Vec<u8>>) -> Request {
    let (body, time) = (body.into(), time.to_string());
    let signature = sha256_hex(SLACK, &[b"v0:", time.as_bytes(), b":", &body]);
    Request::post(body)
        .header("Content-Type", "application/json")
        .header("X-Slack-Request-Timestamp", time)
        .header("X-Slack-Signature", format!("v0={signature}"))
}

/// An event of Shopify's.
pub fn shopify(id: &str, topic: &str, body: impl Into<Vec<u8>>) -> Request {
    let body = body.into();
    let signature = BASE64_STANDARD.encode(mac(HMAC_SHA256, SHOPIFY.as_bytes(), &[&body]));
    Request::post(body)
        .header("Content-Type", "application/json")
        .header("X-Shopify-Topic", topic)
        .header("X-Shopify-Webhook-Id", id)
        .header("X-Shopify-Hmac-Sha256", signature)
}

/// A push of GitLab's with any token: it proves the sender, not the body.
pub fn gitlab(token: &str, key: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::post(body)
        .header("Content-Type", "application/json")
        .header("X-Gitlab-Event", "Push Hook")
        .header("Idempotency-Key", key)
        .header("X-Gitlab-Event-UUID", "2f6b0c11-7a3e-4d59-b1c8-90e4d7a2f305")
        .header("X-Gitlab-Token", token)
}

/// The HMAC of SHA-256 over the parts, in hexadecimal.
pub fn sha256_hex(secret: &str, parts: &[&[u8]]) -> String {
    hex::encode(mac(HMAC_SHA256, secret.as_bytes(), parts))
}

/// The HMAC of SHA-1 over the parts, in hexadecimal.
pub fn sha1_hex(secret: &str, parts: &[&[u8]]) -> String {
    hex::encode(mac(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes(), parts))
}

/// SHA-256 of bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(ring::digest::digest(&ring::digest::SHA256, bytes))
}

/// Seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    since.as_secs().try_into().expect("it is long before the year 292 billion")
}

fn mac(algorithm: Algorithm, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let key = hmac::Key::new(algorithm, key);
    let mut context = hmac::Context::with_key(&key);
    parts.iter().for_each(|part| context.update(part));
    context.sign().as_ref().to_vec()
}

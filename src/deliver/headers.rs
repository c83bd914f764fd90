//! The header lines of a request to an `http` destination: the sender's that may travel, then
//! ours, then those of the configuration.
//!
//! A line that frames the connection, carries the sender's credentials or bears one of our own
//! names is never taken over from a delivery.

use super::facts::{escape, facts, idempotency_key, stable_id};
use super::sign::Signer;
use crate::delivery::Micros;
use crate::job::Lease;
use providers::Secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// How we introduce ourselves.
pub(super) const USER_AGENT: &str = concat!("posthouse/", env!("CARGO_PKG_VERSION"));

/// Lines that belong to one connection; the client writes those that are needed.
const FRAMING: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
];

/// Lines about the sender of a delivery, not about the delivery. `accept-encoding` is among them
/// because an answer is kept as it comes and could not be read compressed.
const OF_THE_SENDER: [&str; 4] = ["authorization", "cookie", "accept-encoding", "user-agent"];

/// Whether only Posthouse may set a line.
fn is_ours(name: &str) -> bool {
    FRAMING.contains(&name)
        || name == "idempotency-key"
        || name.starts_with("webhook-")
        || name.starts_with("posthouse-")
}

/// Whether a kept line of a delivery goes on to the destination.
fn may_travel(name: &str) -> bool {
    !is_ours(name) && !OF_THE_SENDER.contains(&name) && !name.starts_with("proxy-")
}

/// Checks the configured lines. They may replace what a delivery brings along, not what
/// identifies a delivery.
pub(super) fn configured(lines: &BTreeMap<String, Secret>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(lines.len());
    for (text, secret) in lines {
        let name = HeaderName::from_bytes(text.as_bytes())
            .map_err(|_| format!("headers.{text}: not a header name"))?;
        if is_ours(name.as_str()) {
            return Err(format!("headers.{text}: Posthouse sets this header itself"));
        }
        let mut value = HeaderValue::from_str(secret.expose())
            .map_err(|_| format!("headers.{text}: the value cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// All lines of one attempt. `extra` are the configured ones.
pub(super) fn assemble(
    lease: &Lease,
    extra: &HeaderMap,
    signer: Option<&Signer>,
    now_us: Micros,
) -> HeaderMap {
    let parcel = &*lease.delivery;
    let mut headers = HeaderMap::new();
    for (name, value) in parcel.headers.0.iter().filter(|(name, _)| may_travel(name)) {
        // Both came through an HTTP parser once; a line that would not is not worth the delivery.
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let id = stable_id(parcel);
    if let (Some(signer), Some(body)) = (signer, &parcel.body) {
        let timestamp_s = now_us.div_euclid(1_000_000);
        insert(&mut headers, "webhook-timestamp", &timestamp_s.to_string());
        insert(&mut headers, "webhook-signature", &signer.sign(&id, timestamp_s, body));
    }
    insert(&mut headers, "webhook-id", &id);
    insert(&mut headers, "idempotency-key", &idempotency_key(lease));
    insert(&mut headers, "user-agent", USER_AGENT);
    for (name, value) in facts(lease) {
        insert(&mut headers, &format!("posthouse-{}", name.replace('_', "-")), &escape(&value));
    }
    for (name, value) in extra {
        headers.insert(name.clone(), value.clone());
    }
    headers
}

/// The lines of a message of our own. `extra` are the configured ones.
pub(super) fn of_our_own(idempotency_key: &str, extra: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    insert(&mut headers, "content-type", "application/json");
    insert(&mut headers, "user-agent", USER_AGENT);
    insert(&mut headers, "idempotency-key", &escape(idempotency_key));
    for (name, value) in extra {
        headers.insert(name.clone(), value.clone());
    }
    headers
}

/// Sets a line whose name and value are made here, of visible ASCII.
fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::sample;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::sync::Arc;

    fn value<'m>(headers: &'m HeaderMap, name: &str) -> Option<&'m str> {
        headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn a_request_says_what_it_delivers() {
        let mut lease = sample::lease(b"{}");
        lease.entity = Some("caf\u{e9} 1".into());
        let headers = assemble(&lease, &HeaderMap::new(), None, 0);
        for (name, expected) in [
            ("content-type", "application/json"),
            ("x-github-event", "push"),
            ("webhook-id", "msg_3a2804eaf82cf8f551ced05c27218a6d"),
            ("idempotency-key", "gh:7d3c0082:build"),
            ("posthouse-delivery", "1042"),
            ("posthouse-attempt", "3"),
            ("posthouse-lane", "caf%C3%A9%201"),
            ("posthouse-sequence", "12"),
            ("posthouse-occurred-at", "2023-11-14T22:13:20Z"),
            ("posthouse-replay", "n0nce"),
            ("user-agent", USER_AGENT),
        ] {
            assert_eq!(value(&headers, name), Some(expected), "{name}");
        }
        assert_eq!(value(&headers, "webhook-signature"), None);
    }

    #[test]
    fn the_signature_covers_id_time_and_body() {
        let signer = Signer::new(&Secret::new("whsec_c2l4dGVlbiBieXRlcyEh").unwrap()).unwrap();
        let now_us = 1_700_000_002_900_000;
        let headers = assemble(&sample::lease(b"{}"), &HeaderMap::new(), Some(&signer), now_us);
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"sixteen bytes!!");
        let id = value(&headers, "webhook-id").unwrap();
        let tag = ring::hmac::sign(&key, format!("{id}.1700000002.{{}}").as_bytes());
        let expected = format!("v1,{}", STANDARD.encode(tag));
        assert_eq!(value(&headers, "webhook-timestamp"), Some("1700000002"));
        assert_eq!(value(&headers, "webhook-signature"), Some(expected.as_str()));
    }

    #[test]
    fn nothing_of_the_senders_connection_or_credentials_travels() {
        let mut lease = sample::lease(b"{}");
        let kept = &mut Arc::make_mut(&mut lease.delivery).headers.0;
        kept.clear();
        for name in FRAMING.iter().chain(&OF_THE_SENDER) {
            kept.push(((*name).to_owned(), b"theirs".to_vec()));
        }
        for name in ["proxy-authorization", "webhook-id", "webhook-signature", "posthouse-lane"] {
            kept.push((name.to_owned(), b"theirs".to_vec()));
        }
        let headers = assemble(&lease, &HeaderMap::new(), None, 0);
        let theirs = headers.iter().filter(|(_, value)| *value == "theirs");
        assert_eq!(theirs.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn configured_lines_replace_kept_ones_but_never_ours() {
        let lines = |name: &str, text: &str| {
            configured(&BTreeMap::from([(name.to_owned(), Secret::new(text).unwrap())]))
        };
        let extra = lines("Content-Type", "text/x").unwrap();
        let headers = assemble(&sample::lease(b"{}"), &extra, None, 0);
        let all: Vec<_> = headers.get_all("content-type").iter().collect();
        assert_eq!(all, ["text/x"]);
        assert!(!format!("{:?}", lines("Authorization", "Bearer x").unwrap()).contains("Bearer"));
        for name in ["Host", "Webhook-Id", "Idempotency-Key", "Posthouse-Lane", "a b"] {
            assert!(lines(name, "x").is_err(), "{name}");
        }
        let fault = lines("X-Key", "hunter2\n").unwrap_err();
        assert!(!fault.contains("hunter2"), "{fault}");
    }
}

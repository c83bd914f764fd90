//! What a destination is told about a delivery beside its body: the same facts for every kind of
//! destination, which only spells their names in its own way.
//!
//! Values are plain text here; nothing is escaped, and nothing secret is among them.

use crate::delivery::Micros;
use crate::job::{Lease, Parcel};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The id of a delivery that is the same for every attempt, route, replay and instance:
/// `msg_` and the first 32 hex digits of SHA-256 over the source, a NUL and the key.
pub fn stable_id(parcel: &Parcel) -> String {
    let digest = Sha256::new().chain_update(&parcel.source).chain_update([0]);
    let digest = hex::encode(digest.chain_update(&parcel.key).finalize());
    format!("msg_{}", &digest[..32])
}

/// `<source>:<key>:<route>`, the same for every attempt and replay: what a destination recognises
/// a repeat by. Bytes that a header cannot carry are percent-encoded.
pub fn idempotency_key(lease: &Lease) -> String {
    escape(&format!("{}:{}:{}", lease.delivery.source, lease.delivery.key, lease.route))
}

/// Names, in lower case with `_`, and values. A fact that is not known is left out.
pub(super) fn facts(lease: &Lease) -> Vec<(&'static str, String)> {
    let parcel = &*lease.delivery;
    let lane = lease.lane.and(lease.entity.clone());
    let known = [
        ("delivery", Some(parcel.id.to_string())),
        ("attempt", Some(lease.attempt.to_string())),
        ("lane", lane),
        ("sequence", lease.sequence.map(|sequence| sequence.to_string())),
        ("occurred_at", parcel.occurred_us.and_then(rfc3339)),
        ("stale", lease.stale.then(|| "true".to_owned())),
        ("replay", lease.nonce.clone()),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// RFC 3339 in UTC; `None` for a time that no calendar has.
pub(super) fn rfc3339(time_us: Micros) -> Option<String> {
    jiff::Timestamp::from_microsecond(time_us).ok().map(|time| time.to_string())
}

/// Percent-encodes all but visible ASCII. `%` itself is encoded too, so that two texts never
/// become one: a destination that takes two events for one would drop the second.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::sample;

    #[test]
    fn the_stable_id_depends_on_source_and_key_alone() {
        let mut lease = sample::lease(b"{}");
        // printf 'gh\0007d3c0082' | sha256sum
        assert_eq!(stable_id(&lease.delivery), "msg_3a2804eaf82cf8f551ced05c27218a6d");
        let first = stable_id(&lease.delivery);
        let parcel = std::sync::Arc::make_mut(&mut lease.delivery);
        parcel.kind = "other".into();
        assert_eq!(stable_id(parcel), first);
        parcel.key = "7d3c0083".into();
        assert_ne!(stable_id(parcel), first);
    }

    #[test]
    fn escaping_keeps_different_texts_different() {
        assert_eq!(escape("gh:a/b#1"), "gh:a/b#1");
        assert_eq!(escape("a b"), "a%20b");
        assert_eq!(escape("a%20b"), "a%2520b");
        assert_eq!(escape("\u{fc}\r\n"), "%C3%BC%0D%0A");
    }

    #[test]
    fn unknown_facts_are_left_out() {
        let mut lease = sample::lease(b"{}");
        let names = |lease: &Lease| facts(lease).iter().map(|fact| fact.0).collect::<Vec<_>>();
        let all = ["delivery", "attempt", "lane", "sequence", "occurred_at", "stale", "replay"];
        assert_eq!(names(&lease), all);
        assert!(facts(&lease).contains(&("occurred_at", "2023-11-14T22:13:20Z".into())));
        (lease.lane, lease.sequence, lease.nonce, lease.stale) = (None, None, None, false);
        assert_eq!(names(&lease), ["delivery", "attempt", "occurred_at"]);
    }
}

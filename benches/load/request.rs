//! What is sent: signed GitHub push events of an exact size, each with an id of its own.
//!
//! Everything is built and signed beforehand, by an implementation that is not the one under
//! test; only the delivery id is written in when a request is sent.

use ring::hmac;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// The secret that server and load share.
pub const SECRET: &str = "the-secret-of-the-benchmark-0123456789";

/// Repositories, and therefore lanes: as many as a busy organisation has active at a time.
const REPOSITORIES: u64 = 64;

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
const GUID_BYTES: usize = 36;

/// The requests of one run.
pub struct Requests {
    signed: Vec<Signed>,
    next: AtomicU64,
}

/// A whole request, but for its id.
struct Signed {
    bytes: Vec<u8>,
    guid_at: usize,
}

impl Requests {
    /// Requests with bodies of exactly `body_bytes`, one for each repository.
    pub fn new(body_bytes: usize) -> Self {
        let signed = (0..REPOSITORIES).map(|number| sign(&push(body_bytes, number))).collect();
        Self { signed, next: AtomicU64::new(0) }
    }

    /// Writes the next request over `out`. `stamp` becomes the first half of its id, to be read
    /// by whoever gets it; without one, ids are spread as GitHub's are.
    pub fn write(&self, stamp: Option<u64>, out: &mut Vec<u8>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let signed = &self.signed[(number % REPOSITORIES) as usize];
        out.clear();
        out.extend_from_slice(&signed.bytes);
        let guid = guid(stamp.unwrap_or_else(|| mix(number)), number);
        out[signed.guid_at..][..GUID_BYTES].copy_from_slice(&guid);
    }
}

/// The stamp in an id made by [`Requests::write`].
pub fn stamp(key: &str) -> Option<u64> {
    let digits: String = key.chars().filter(|char| *char != '-').take(16).collect();
    u64::from_str_radix(&digits, 16).ok()
}

/// A number between 0 and `u64::MAX` that looks random, another one for every number: the last
/// step of SplitMix64.
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The body of a push event that has exactly `bytes` bytes.
pub fn push(bytes: usize, number: u64) -> Vec<u8> {
    let mut seed = number << 32;
    let mut hex = |digits: usize| {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            seed += 1;
            text.push_str(&format!("{:016x}", mix(seed)));
        }
        text.truncate(digits);
        text
    };
    let mut event = json!({
        "ref": "refs/heads/main", "before": hex(40), "after": hex(40),
        "created": false, "forced": false,
        "repository": { "id": 100_000 + number, "full_name": format!("octo/repo-{number:04}"),
            "private": false, "owner": { "login": "octo", "id": 7 } },
        "pusher": { "name": "octocat", "email": "octo@example.com" },
        "sender": { "login": "octocat", "id": 583_231 },
        "commits": [], "pad": "",
    });
    let mut commits = Vec::new();
    while event.to_string().len() <= bytes {
        commits.push(json!({
            "id": hex(40), "message": format!("fix: {}", hex(24)),
            "timestamp": "2026-11-30T10:00:00Z",
            "author": { "name": "Octo Cat", "email": "octo@example.com" },
            "added": [format!("src/{}.rs", hex(8))], "removed": [],
            "modified": ["README.md", format!("src/{}.rs", hex(6))],
        }));
        event["commits"] = Value::Array(commits.clone());
    }
    commits.pop();
    event["commits"] = Value::Array(commits);
    let missing = bytes - event.to_string().len();
    event["pad"] = Value::String(hex(missing));
    event.to_string().into_bytes()
}

fn sign(body: &[u8]) -> Signed {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hex::encode(hmac::sign(&key, body));
    let head = format!(
        "POST /hooks/github HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         User-Agent: GitHub-Hookshot/bench\r\nX-GitHub-Event: push\r\n\
         X-Hub-Signature-256: sha256={tag}\r\nContent-Length: {}\r\nX-GitHub-Delivery: ",
        body.len()
    );
    let guid_at = head.len();
    let mut bytes = head.into_bytes();
    bytes.resize(guid_at + GUID_BYTES, b'0');
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes.extend_from_slice(body);
    Signed { bytes, guid_at }
}

fn guid(high: u64, low: u64) -> [u8; GUID_BYTES] {
    let number = (u128::from(high) << 64) | u128::from(low);
    let mut text = [b'-'; GUID_BYTES];
    let mut shift = 128;
    for (at, char) in text.iter_mut().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            continue;
        }
        shift -= 4;
        *char = b"0123456789abcdef"[(number >> shift) as usize & 15];
    }
    text
}

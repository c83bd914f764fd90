//! Encrypts what a refused request was signed with.
//!
//! To judge a request again once the secret is mended, its signature headers are needed, and a
//! token in the clear is among them. A copy of the database must not give them away, so the key is
//! elsewhere. Nothing here is ever shown.

use super::KeptRequest;
use crate::delivery::{KeptHeaders, Micros};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};

/// Seals and opens with one key.
pub(super) struct Seal(Option<LessSafeKey>);

impl Seal {
    pub(super) fn new(key: &str) -> Self {
        // Random nonces of 96 bits are safe for 2^32 messages: one a second for a century.
        let key = Sha256::digest(key);
        Self(UnboundKey::new(&CHACHA20_POLY1305, &key).ok().map(LessSafeKey::new))
    }

    /// The head of a request, encrypted; empty if that fails.
    pub(super) fn close(&self, source: &str, at_us: Micros, head: &KeptRequest) -> Vec<u8> {
        let mut text = format!("{}\n{}\n", head.method, head.target).into_bytes();
        text.extend(head.headers.to_bytes());
        let nonce: [u8; NONCE_LEN] = rand::random();
        let Some(key) = &self.0 else { return Vec::new() };
        let (at, about) = (Nonce::assume_unique_for_key(nonce), about(source, at_us));
        match key.seal_in_place_append_tag(at, about, &mut text) {
            Ok(()) => [&nonce[..], &text].concat(),
            Err(_) => Vec::new(),
        }
    }

    /// The head again; `None` if it was sealed with another key, or is not what was sealed.
    pub(super) fn open(&self, source: &str, at_us: Micros, sealed: &[u8]) -> Option<KeptRequest> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let text = self.0.as_ref()?.open_in_place(nonce, about(source, at_us), &mut text).ok()?;
        let mut lines = text.splitn(3, |byte| *byte == b'\n');
        let mut line = || String::from_utf8(lines.next()?.to_vec()).ok();
        let (method, target) = (line()?, line()?);
        Some(KeptRequest { method, target, headers: KeptHeaders::from_bytes(lines.next()?) })
    }
}

/// What is not encrypted, and still must not be changed.
fn about(source: &str, at_us: Micros) -> Aad<Vec<u8>> {
    Aad::from(format!("{source}\n{at_us}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_and_facts_only() {
        let seal = Seal::new;
        let headers = vec![
            ("x-signature".to_owned(), b"sha256=\xff: 1".to_vec()),
            ("x-empty".to_owned(), Vec::new()),
        ];
        let head = KeptRequest {
            method: "POST".into(),
            target: "/hooks/a?token=lantern".into(),
            headers: KeptHeaders(headers),
        };
        let sealed = seal("key").close("a", 7, &head);
        assert!(!sealed.windows(7).any(|part| part == b"lantern"));
        assert_ne!(sealed, seal("key").close("a", 7, &head), "never the same bytes twice");
        assert_eq!(seal("key").open("a", 7, &sealed), Some(head));
        assert_eq!(seal("other").open("a", 7, &sealed), None);
        assert_eq!(seal("key").open("b", 7, &sealed), None);
        assert_eq!(seal("key").open("a", 8, &sealed), None);
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert_eq!(seal("key").open("a", 7, &bent), None, "byte {at}");
            assert_eq!(seal("key").open("a", 7, &sealed[..at]), None);
        }
    }
}

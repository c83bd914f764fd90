//! Tries a key that is no text, and so no [`providers::Secret`], with the usual shapes of an HMAC.
//!
//! It explains and never proves: what is compared here decides nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use providers::Request;
use sha2::Sha256;

/// Digests and times that are tried of a request. A genuine one has one or two.
const CLAIMS_MAX: usize = 8;
const STAMPS_MAX: usize = 3;

/// The texts in a request's headers that have the length of an HMAC of SHA-256, decoded.
pub(super) fn claims(request: &Request<'_>) -> Vec<Vec<u8>> {
    let digest = |text: &str| {
        let bytes = match text.len() {
            64 => hex::decode(text).ok(),
            44 => STANDARD.decode(text).ok(),
            _ => None,
        };
        bytes.filter(|bytes| bytes.len() == 32)
    };
    let found = words(request).into_iter().filter_map(|(_, word)| digest(word));
    found.take(CLAIMS_MAX).collect()
}

/// Whether a key makes one of the digests in one of the usual ways.
pub(super) fn fits(request: &Request<'_>, key: &[u8], claims: &[Vec<u8>]) -> bool {
    if claims.is_empty() {
        return false;
    }
    let is_stamp = |word: &str| {
        (10..=13).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words = words(request);
    let mut stamps: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    stamps.retain(|word| is_stamp(word));
    stamps.truncate(STAMPS_MAX);
    let id = words.iter().find(|(name, _)| matches!(*name, "webhook-id" | "svix-id"));
    let mut shapes: Vec<Vec<&[u8]>> = vec![vec![request.body]];
    for stamp in stamps {
        let stamp = stamp.as_bytes();
        shapes.push(vec![stamp, b".", request.body]);
        shapes.push(vec![b"v0:", stamp, b":", request.body]);
        if let Some((_, id)) = id {
            shapes.push(vec![id.as_bytes(), b".", stamp, b".", request.body]);
        }
    }
    shapes.iter().any(|parts| claims.contains(&mac(key, parts)))
}

/// The words of the header values: what stands between commas, semicolons and spaces, and the same
/// behind an equals sign.
fn words<'r>(request: &Request<'r>) -> Vec<(&'r str, &'r str)> {
    let mut words = Vec::new();
    for (name, value) in request.headers {
        let Ok(value) = std::str::from_utf8(value) else { continue };
        for word in value.split([',', ';', ' ']).filter(|word| !word.is_empty()) {
            words.push((*name, word));
            words.extend(word.split_once('=').map(|(_, rest)| (*name, rest)));
        }
    }
    words
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else { return Vec::new() };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

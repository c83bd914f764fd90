//! Public keys out of what a sender publishes: a JWK, a set of them, or PEM.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rsa::{BoxedUint, PublicKey as RsaPublicKey};

use super::PublicKey;
use crate::json;

/// The key of an id in a document: a JWK set, a JWK by itself or under `/key`, or PEM. A JWK that
/// names another id is not it.
pub(crate) fn published(document: &[u8], id: &str) -> Option<PublicKey> {
    let text = std::str::from_utf8(document).ok()?;
    if text.trim_start().starts_with("-----BEGIN ") {
        return PublicKey::from_pem(text);
    }
    match json::items(document, "/keys") {
        Ok(keys) => keys.iter().find_map(|item| key(item.json, "", id, true)),
        Err(_) => key(document, "/key", id, false).or_else(|| key(document, "", id, false)),
    }
}

fn key(json: &[u8], at: &str, id: &str, id_needed: bool) -> Option<PublicKey> {
    let names = ["kid", "kty", "crv", "x", "y", "n", "e"].map(|name| format!("{at}/{name}"));
    let fields = json::fields(json, names.each_ref().map(String::as_str)).ok()?;
    let [kid, kty, curve, x, y, n, e] = json::texts(&fields);
    if kid.map_or(id_needed, |kid| kid != id) {
        return None;
    }
    let number = |text: Option<&str>| URL_SAFE_NO_PAD.decode(text?).ok();
    match (kty?, curve) {
        ("EC", Some("P-256")) => {
            let point = [vec![4], number(x)?, number(y)?].concat();
            let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok()?;
            Some(PublicKey::P256(key))
        }
        ("RSA", _) => {
            let [n, e] = [number(n)?, number(e)?].map(|it| BoxedUint::from_be_slice_vartime(&it));
            PublicKey::of_rsa(RsaPublicKey::new(n, e).ok()?)
        }
        _ => None,
    }
}

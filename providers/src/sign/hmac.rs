//! Proof by an HMAC over bytes that the provider names.

use ::hmac::{Hmac, KeyInit, Mac};
use subtle::ConstantTimeEq;

use super::{Coverage, Encoding, Hash, Proved, covering, proved};
use crate::{Rejection, Request};

/// Reads the one signature of a header that must be exactly `prefix` and one encoded digest.
pub(crate) fn claimed(
    request: &Request<'_>,
    header: &'static str,
    prefix: &str,
    encoding: Encoding,
) -> Result<Vec<u8>, Rejection> {
    let text = request
        .header(header)?
        .strip_prefix(prefix.as_bytes())
        .ok_or(Rejection::HeaderMalformed(header, "it does not begin with its prefix"))?;
    match encoding.read(text) {
        Some(bytes) if !bytes.is_empty() => Ok(bytes),
        _ => Err(Rejection::HeaderMalformed(header, "the digest cannot be decoded")),
    }
}

/// The HMAC of `parts`, fed one after another and never joined. `None` for an empty key, under
/// which anyone can sign, and for one of zero bytes: HMAC fills up short keys with zeros, so that
/// is the empty key in disguise.
pub(crate) fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Option<Vec<u8>> {
    if key.iter().all(|byte| *byte == 0) {
        return None;
    }
    match hash {
        Hash::Md5 => keyed::<Hmac<md5::Md5>>(key, parts),
        Hash::Sha1 => keyed::<Hmac<sha1::Sha1>>(key, parts),
        Hash::Sha256 => keyed::<Hmac<sha2::Sha256>>(key, parts),
        Hash::Sha512 => keyed::<Hmac<sha2::Sha512>>(key, parts),
    }
}

fn keyed<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Option<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(part);
    }
    Some(mac.finalize().into_bytes().to_vec())
}

/// Proves a request by an HMAC over `parts`: one of `claims` must be it.
pub(crate) fn prove_hmac<'r>(
    request: &Request<'r>,
    hash: Hash,
    key: &[u8],
    parts: &[&[u8]],
    claims: &[Vec<u8>],
) -> Result<Proved<'r>, Rejection> {
    proved(request, parts, matches(hash, key, parts, claims)?)
}

/// As [`prove_hmac`], where `parts` hold everything that is read from the body, decoded: the
/// fields of a form instead of its bytes. It covers the body as far as its content goes.
pub(crate) fn prove_hmac_decoded<'r>(
    request: &Request<'r>,
    hash: Hash,
    key: &[u8],
    parts: &[&[u8]],
    claims: &[Vec<u8>],
) -> Result<Proved<'r>, Rejection> {
    covering(request, Coverage::Body, matches(hash, key, parts, claims)?)
}

fn matches(hash: Hash, key: &[u8], parts: &[&[u8]], claims: &[Vec<u8>]) -> Result<bool, Rejection> {
    let tag =
        hmac(hash, key, parts).ok_or(Rejection::SecretUnusable("its key is empty or zero"))?;
    Ok(claims.iter().fold(0, |good, claim| good | tag.ct_eq(claim).unwrap_u8()) == 1)
}

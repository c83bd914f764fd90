//! The shapes of proof: the only place that compares a signature and the only one that can make
//! a [`Proved`]. Every comparison is constant-time, and a time is judged only after the signature
//! over it is proved. It knows no sender: which header, which key and which bytes are signed is
//! for the provider to say.
//!
//! Nothing outside this module can make a proof. A provider that skips the check does not compile:
//!
//! ```compile_fail
//! let request = providers::Request { method: "POST", url: "", headers: &[], body: b"{}" };
//! let forged = providers::Proved { request, coverage: providers::Coverage::Body };
//! ```
//!
//! ```
//! let request = providers::Request { method: "POST", url: "", headers: &[], body: b"{}" };
//! let unproved: Option<providers::Proved<'_>> = None;
//! assert!(unproved.is_none() && request.body == b"{}");
//! ```

pub use crate::encoding::{Encoding, Hash};
use crate::text::Unit;
use crate::{Admitted, Provider, Rejection, Request, Window};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Digest;
use subtle::ConstantTimeEq;

/// What a proof covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every byte of the body.
    Body,
    /// The sender only, not the content: a shared token.
    Sender,
    /// Nothing: the source accepts anyone.
    Nothing,
}

/// A request whose sender is proved. Only this module makes one.
#[derive(Clone, Copy, Debug)]
pub struct Proved<'r> {
    request: Request<'r>,
    coverage: Coverage,
}

impl<'r> Proved<'r> {
    /// The request that was proved.
    pub fn request(&self) -> &Request<'r> {
        &self.request
    }

    /// What the proof covers.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The body, byte for byte.
    pub fn body(&self) -> &'r [u8] {
        self.request.body
    }

    /// Demands that the proved time is near the present. Past and future alike are refused: a
    /// far-future stamp would keep a recorded request good for as long.
    pub(crate) fn within(self, stamp: Stamp, window: Window) -> Result<Self, Rejection> {
        let skew_s = stamp.0.saturating_sub(window.now_s);
        if skew_s.unsigned_abs() > window.tolerance_s.unsigned_abs() {
            return Err(Rejection::TimestampOutside { skew_s });
        }
        Ok(self)
    }
}

/// Reads a request of a source that is configured to accept anyone (`unsigned = true`).
pub fn admit_unsigned(
    provider: &dyn Provider,
    request: &Request<'_>,
) -> Result<Admitted, Rejection> {
    crate::admit::read(provider, &Proved { request: *request, coverage: Coverage::Nothing }, 0)
}

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
    let tag =
        hmac(hash, key, parts).ok_or(Rejection::SecretUnusable("its key is empty or zero"))?;
    let good = claims.iter().fold(0, |good, claim| good | tag.ct_eq(claim).unwrap_u8());
    proved(request, parts, good == 1)
}

/// Signatures of one request that are tried against a public key. Each costs some 50 us, so a
/// header full of them must not buy a second of work; senders in rotation list two or three.
const CLAIMS_MAX: usize = 8;

/// Proves a request by an Ed25519 signature over `parts`: one of `claims` must be good.
pub(crate) fn prove_ed25519<'r>(
    request: &Request<'r>,
    public_key: &[u8],
    parts: &[&[u8]],
    claims: &[Vec<u8>],
) -> Result<Proved<'r>, Rejection> {
    let key = <[u8; 32]>::try_from(public_key)
        .ok()
        .and_then(|bytes| ed25519_dalek::VerifyingKey::from_bytes(&bytes).ok())
        .ok_or(Rejection::SecretUnusable("it is not an Ed25519 public key of 32 bytes"))?;
    let message = parts.concat();
    let good = claims.iter().take(CLAIMS_MAX).any(|claim| {
        ed25519_dalek::Signature::from_slice(claim)
            .is_ok_and(|signature| key.verify_strict(&message, &signature).is_ok())
    });
    proved(request, parts, good)
}

/// Proves the sender, not the content: the header carries the shared token itself.
///
/// Digests are compared, so that the time taken does not even tell the length of the token.
pub(crate) fn prove_token<'r>(
    request: &Request<'r>,
    expected: &[u8],
    claim: &[u8],
) -> Result<Proved<'r>, Rejection> {
    if expected.is_empty() {
        return Err(Rejection::SecretUnusable("its key is empty"));
    }
    let (expected, claim) = (sha2::Sha256::digest(expected), sha2::Sha256::digest(claim));
    proved(request, &[], expected.ct_eq(&claim).into())
}

/// Coverage is found, not claimed: only what was fed to the check counts as proved.
fn proved<'r>(request: &Request<'r>, parts: &[&[u8]], good: bool) -> Result<Proved<'r>, Rejection> {
    if !good {
        return Err(Rejection::SignatureMismatch);
    }
    let body = parts.iter().any(|part| std::ptr::eq(*part, request.body));
    let coverage = if body { Coverage::Body } else { Coverage::Sender };
    Ok(Proved { request: *request, coverage })
}

/// A signed time, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp(i64);

impl Stamp {
    /// Reads ASCII digits, at most 20. A number that does not fit lies in the far future.
    pub(crate) fn read(header: &'static str, text: &[u8], unit: Unit) -> Result<Self, Rejection> {
        if text.is_empty() || text.len() > 20 || !text.iter().all(u8::is_ascii_digit) {
            return Err(Rejection::HeaderMalformed(header, "the time is not a plain number"));
        }
        let digits = text.iter().map(|digit| i64::from(digit - b'0'));
        let value = digits.fold(0, |sum: i64, digit| sum.saturating_mul(10).saturating_add(digit));
        Ok(Self(unit.seconds(value)))
    }
}

#[cfg(test)]
mod tests;

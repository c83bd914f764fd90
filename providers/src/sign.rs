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

mod digest;
mod ed25519;
mod hmac;
mod jwk;
mod jwt;
mod list;
mod private;
mod public;
mod stamp;
mod token;

pub use crate::encoding::{Encoding, Hash};
use crate::{Admitted, Provider, Rejection, Request, Window};
pub(crate) use digest::{prove_digest, sha256_hex};
pub(crate) use ed25519::prove_ed25519;
pub(crate) use hmac::{claimed, hmac, prove_hmac, prove_hmac_decoded};
pub(crate) use jwk::published;
pub(crate) use jwt::{Algorithm, Jwt, shared_token};
pub(crate) use list::TagList;
pub(crate) use private::PrivateKey;
pub(crate) use public::{Certified, PublicKey, prove_public};
use sha2::Digest;
pub(crate) use stamp::Stamp;
use subtle::ConstantTimeEq;
pub(crate) use token::{basic, basic_fault, prove_basic, prove_token};

/// What a proof covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of the body: its bytes, or the content that they decode to.
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
    seen_s: Option<i64>,
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

    /// Notes the moment of the check, for senders whose requests have nothing that tells one
    /// from the next.
    pub(crate) fn seen(self, window: Window) -> Self {
        Self { seen_s: Some(window.now_s), ..self }
    }

    /// The moment of the check in seconds since 1970, where it was noted.
    pub(crate) fn seen_s(&self) -> Option<i64> {
        self.seen_s
    }

    /// Demands that the proved time is near the present. Past and future alike are refused: a
    /// far-future stamp would keep a recorded request good for as long.
    pub(crate) fn within(self, stamp: Stamp, window: Window) -> Result<Self, Rejection> {
        self.after(stamp, window)?.before(stamp, window)
    }

    /// Demands that the proved time is not in the future.
    fn after(self, stamp: Stamp, window: Window) -> Result<Self, Rejection> {
        match stamp.seconds().saturating_sub(window.now_s) {
            skew_s if skew_s > window.tolerance_s => Err(Rejection::TimestampOutside { skew_s }),
            _ => Ok(self),
        }
    }

    /// Demands that the proved time is not past.
    fn before(self, stamp: Stamp, window: Window) -> Result<Self, Rejection> {
        match stamp.seconds().saturating_sub(window.now_s) {
            skew_s if skew_s < -window.tolerance_s => Err(Rejection::TimestampOutside { skew_s }),
            _ => Ok(self),
        }
    }

    /// Demands that a proved text is the hexadecimal SHA-256 of the body, which it then covers.
    pub(crate) fn with_body_digest(self, claim: &[u8]) -> Result<Self, Rejection> {
        let digest = sha2::Sha256::digest(self.request.body);
        let claim = Encoding::Hex.read(claim).unwrap_or_default();
        covering(&self.request, Coverage::Body, digest.as_slice().ct_eq(&claim).into())
    }
}

/// Reads a request of a source that is configured to accept anyone (`unsigned = true`).
pub fn admit_unsigned(
    provider: &dyn Provider,
    request: &Request<'_>,
) -> Result<Admitted, Rejection> {
    admit_unsigned_with(provider, request, true)
}

/// As [`admit_unsigned`]; unless `split`, a batch is kept in one piece.
pub fn admit_unsigned_with(
    provider: &dyn Provider,
    request: &Request<'_>,
    split: bool,
) -> Result<Admitted, Rejection> {
    let proved = Proved { request: *request, coverage: Coverage::Nothing, seen_s: None };
    crate::admit::read(provider, &proved, None, split)
}

/// Coverage is found, not claimed: only what was fed to the check counts as proved.
fn proved<'r>(request: &Request<'r>, parts: &[&[u8]], good: bool) -> Result<Proved<'r>, Rejection> {
    let body = parts.iter().any(|part| std::ptr::eq(*part, request.body));
    covering(request, if body { Coverage::Body } else { Coverage::Sender }, good)
}

fn covering<'r>(
    request: &Request<'r>,
    coverage: Coverage,
    good: bool,
) -> Result<Proved<'r>, Rejection> {
    match good {
        true => Ok(Proved { request: *request, coverage, seen_s: None }),
        false => Err(Rejection::SignatureMismatch),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod token_tests;

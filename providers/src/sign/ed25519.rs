//! Proof by an Ed25519 signature.

use super::{Proved, proved};
use crate::{Rejection, Request};

/// Signatures of one request that are tried against a public key. Each costs some 50 us, so a
/// header full of them must not buy a second of work; senders in rotation list two or three.
pub(super) const CLAIMS_MAX: usize = 8;

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

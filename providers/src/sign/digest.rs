//! Proof by a plain hash over the secret and then the request. It is weaker than an HMAC, as
//! bytes can be added at the end of what was signed; only for senders that offer nothing else.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Proved, proved};
use crate::{Rejection, Request};

/// Proves a request by the SHA-256 of `key` and then `parts`.
pub(crate) fn prove_digest<'r>(
    request: &Request<'r>,
    key: &[u8],
    parts: &[&[u8]],
    claim: &[u8],
) -> Result<Proved<'r>, Rejection> {
    if key.is_empty() {
        return Err(Rejection::SecretUnusable("its key is empty"));
    }
    let mut hash = Sha256::new_with_prefix(key);
    for part in parts {
        hash.update(part);
    }
    proved(request, parts, hash.finalize().as_slice().ct_eq(claim).into())
}

/// The SHA-256 of a body in hexadecimal, as some senders put it under their signature.
pub(crate) fn sha256_hex(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}

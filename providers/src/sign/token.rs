//! Proof by a shared text in the clear. It proves the sender, not the content.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Coverage, Encoding, Proved, covering};
use crate::{Rejection, Request, Secret};

/// Proves the sender, not the content: the request carries the shared token itself.
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
    let (expected, claim) = (Sha256::digest(expected), Sha256::digest(claim));
    covering(request, Coverage::Sender, expected.ct_eq(&claim).into())
}

const AUTHORIZATION: &str = "authorization";

/// Proves the sender by HTTP Basic authentication; the secret is `user:password`. The scheme is
/// read in either case, and a password may contain colons.
pub(crate) fn prove_basic<'r>(
    request: &Request<'r>,
    secret: &Secret,
) -> Result<Proved<'r>, Rejection> {
    if !secret.expose().contains(':') {
        return Err(Rejection::SecretUnusable("it is not of the form user:password"));
    }
    let value = request.header(AUTHORIZATION)?;
    let malformed = Rejection::HeaderMalformed(AUTHORIZATION, "expected Basic <base64>");
    let claim = match value.split_at_checked(6) {
        Some((scheme, text)) if scheme.eq_ignore_ascii_case(b"basic ") => {
            Encoding::Base64.read(text).ok_or(malformed)?
        }
        _ => return Err(malformed),
    };
    prove_token(request, secret.expose().as_bytes(), &claim)
}

/// Says so if a secret is not of the form that [`prove_basic`] needs.
pub(crate) fn basic_fault(secret: &Secret) -> Option<String> {
    let colon = secret.expose().contains(':');
    (!colon).then(|| "is not of the form user:password".to_owned())
}

/// The value of an `Authorization` header for a secret `user:password`.
pub(crate) fn basic(secret: &Secret) -> String {
    format!("Basic {}", Encoding::Base64.write(secret.expose().as_bytes()))
}

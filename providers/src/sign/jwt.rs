//! Proof by a JSON Web Token. The algorithm is the provider's to say and never the token's, and
//! no claim is read before the signature over it is proved.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::public::Form;
use super::{Coverage, Hash, Proved, PublicKey, Stamp, covering, hmac};
use crate::text::Unit;
use crate::{Rejection, Request, Window, json};
use subtle::ConstantTimeEq;

/// The algorithm that a provider's tokens are signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// HMAC-SHA256.
    Hs256,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// RSA with SHA-256.
    Rs256,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }
}

/// Bytes of a token. Those of senders have some 500 to 2000.
const TOKEN_BYTES_MAX: usize = 8192;

/// A token whose signature is still to be proved.
pub(crate) struct Jwt<'t> {
    signed: &'t [u8],
    payload: &'t [u8],
    signature: Vec<u8>,
    /// The id of the key, as the token says: anyone's to choose.
    pub(crate) kid: Option<String>,
}

const MALFORMED: Rejection = Rejection::ProofMalformed("it is not a token of three parts");

impl<'t> Jwt<'t> {
    /// Takes a token apart. It must be of this algorithm and ask for no extension.
    pub(crate) fn read(token: &'t [u8], algorithm: Algorithm) -> Result<Self, Rejection> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Rejection::ProofMalformed("the token is longer than 8192 bytes"));
        }
        let mut parts = token.split(|byte| *byte == b'.');
        let (Some(head), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(MALFORMED);
        };
        let decoded = |part: &[u8]| URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let (head_json, signature) = (decoded(head)?, decoded(signature)?);
        let fields = json::fields(&head_json, ["/alg", "/kid"]).map_err(|_| MALFORMED)?;
        let [name, kid] = json::texts(&fields);
        if name != Some(algorithm.name()) {
            return Err(Rejection::ProofMalformed("the token is of another algorithm"));
        }
        if json::items(&head_json, "/crit").is_ok() {
            return Err(Rejection::ProofMalformed("the token demands an unknown extension"));
        }
        let signed = &token[..head.len() + 1 + payload.len()];
        Ok(Self { signed, payload, signature, kid: kid.map(str::to_owned) })
    }

    /// Proves a token that is signed with a shared key.
    pub(crate) fn prove_shared<'r>(
        &self,
        request: &Request<'r>,
        key: &[u8],
    ) -> Result<Claimed<'r>, Rejection> {
        let tag = hmac(Hash::Sha256, key, &[self.signed])
            .ok_or(Rejection::SecretUnusable("its key is empty or zero"))?;
        self.claims(request, tag.ct_eq(&self.signature).into())
    }

    /// Proves a token that only the holder of a private key can sign. The kind of the key must be
    /// that of the algorithm: `key` comes from the provider's list, never from the token.
    pub(crate) fn prove_public<'r>(
        &self,
        request: &Request<'r>,
        key: &PublicKey,
    ) -> Result<Claimed<'r>, Rejection> {
        let good = key.is_good(Hash::Sha256, Form::Raw, self.signed, &self.signature);
        self.claims(request, good)
    }

    /// The text of a claim, in a request whose proof this token was.
    pub(crate) fn claim(&self, _: &Proved<'_>, pointer: &str) -> Option<String> {
        let claims = URL_SAFE_NO_PAD.decode(self.payload).ok()?;
        let [claim] = json::fields(&claims, [pointer]).ok()?;
        claim.map(|claim| claim.as_str().to_owned())
    }

    fn claims<'r>(&self, request: &Request<'r>, good: bool) -> Result<Claimed<'r>, Rejection> {
        let proved = covering(request, Coverage::Sender, good)?;
        let claims = URL_SAFE_NO_PAD.decode(self.payload).map_err(|_| MALFORMED)?;
        Ok(Claimed { proved, claims })
    }
}

/// A proved token: its claims may be read. It is no proof of the request before they are checked.
pub(crate) struct Claimed<'r> {
    proved: Proved<'r>,
    claims: Vec<u8>,
}

impl<'r> Claimed<'r> {
    /// The text of a claim.
    pub(crate) fn text(&self, pointer: &str) -> Option<String> {
        let [claim] = json::fields(&self.claims, [pointer]).ok()?;
        claim.map(|claim| claim.as_str().to_owned())
    }

    /// Demands that a claim is one of `texts`.
    pub(crate) fn demand(self, pointer: &str, texts: &[&str]) -> Result<Self, Rejection> {
        match self.text(pointer) {
            Some(claim) if texts.contains(&claim.as_str()) => Ok(self),
            _ => Err(Rejection::SignatureMismatch),
        }
    }

    /// Demands that a claim is the hexadecimal SHA-256 of the body, and so covers the body.
    pub(crate) fn demand_body(self, pointer: &str) -> Result<Self, Rejection> {
        let claim = self.text(pointer).unwrap_or_default();
        Ok(Self { proved: self.proved.with_body_digest(claim.as_bytes())?, ..self })
    }

    /// Demands that `iat` is near the present.
    pub(crate) fn issued_within(self, window: Window) -> Result<Self, Rejection> {
        let stamp = self.time("/iat")?;
        Ok(Self { proved: self.proved.within(stamp, window)?, ..self })
    }

    /// Demands that the present is not before `iat`, give or take the tolerance, nor after `exp`.
    pub(crate) fn current(self, window: Window) -> Result<Self, Rejection> {
        let (from, until) = (self.time("/iat")?, self.time("/exp")?);
        let exact = Window { tolerance_s: 0, ..window };
        let proved = self.proved.after(from, window)?.before(until, exact)?;
        Ok(Self { proved, ..self })
    }

    fn time(&self, pointer: &str) -> Result<Stamp, Rejection> {
        let text = self.text(pointer).unwrap_or_default();
        Stamp::within_proof(text.as_bytes(), Unit::Seconds)
    }

    /// The proof, once every claim that matters has been demanded.
    pub(crate) fn proof(self) -> Proved<'r> {
        self.proved
    }
}

/// A token of HMAC-SHA256 over claims, as a sender would make it.
pub(crate) fn shared_token(claims: &serde_json::Value, key: &[u8]) -> Option<String> {
    let head = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
    let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let tag = hmac(Hash::Sha256, key, &[signed.as_bytes()])?;
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag)))
}

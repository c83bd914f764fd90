//! Proof by a signature that only the sender can make: ECDSA over P-256, and RSA of PKCS#1 v1.5.
//! Keys are read from PEM, DER or a certificate, and the kind of key decides the check, so that no
//! request can choose a weaker one.

use p256::ecdsa::signature::Verifier;
use p256::pkcs8::DecodePublicKey;
use rsa::PublicKey as RsaPublicKey;
use rsa::pkcs1v15;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem, Encode};

use super::{Hash, Proved, proved};
use crate::{Rejection, Request, Window};

/// A sender's public key.
#[derive(Clone, Debug)]
pub(crate) enum PublicKey {
    /// ECDSA over P-256, with SHA-256.
    P256(p256::ecdsa::VerifyingKey),
    /// RSA.
    Rsa(Box<RsaPublicKey>),
}

/// How an ECDSA signature is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// As two numbers in ASN.1.
    Der,
    /// As two numbers of 32 bytes each: JWT.
    Raw,
}

/// RSA keys below this are within reach of a patient attacker, and nobody here uses them.
const RSA_BITS_MIN: usize = 2048;

impl PublicKey {
    /// A SubjectPublicKeyInfo in DER.
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_der(der) {
            return Some(Self::P256(key));
        }
        Self::of_rsa(RsaPublicKey::from_public_key_der(der).ok()?)
    }

    /// A PEM text of a public key, of a certificate, or of a private P-256 key.
    pub(crate) fn from_pem(text: &str) -> Option<Self> {
        if text.contains("BEGIN CERTIFICATE") {
            return Some(Certified::from_pem(text.as_bytes())?.key);
        }
        if text.contains("PRIVATE KEY") {
            return super::PrivateKey::from_pem(text)?.p256_public();
        }
        Self::from_public_pem(text)
    }

    fn from_public_pem(text: &str) -> Option<Self> {
        if let Ok(key) = p256::ecdsa::VerifyingKey::from_public_key_pem(text) {
            return Some(Self::P256(key));
        }
        Self::of_rsa(RsaPublicKey::from_public_key_pem(text).ok()?)
    }

    pub(super) fn of_rsa(key: RsaPublicKey) -> Option<Self> {
        use rsa::traits::PublicKeyParts;
        (key.n().bit_width() as usize >= RSA_BITS_MIN).then(|| Self::Rsa(Box::new(key)))
    }

    /// Whether `signature` is this key's over `message`. ECDSA is with SHA-256 only.
    pub(super) fn is_good(&self, hash: Hash, form: Form, message: &[u8], signature: &[u8]) -> bool {
        match (self, hash) {
            (Self::P256(key), Hash::Sha256) => {
                let read = match form {
                    Form::Der => p256::ecdsa::Signature::from_der(signature),
                    Form::Raw => p256::ecdsa::Signature::from_slice(signature),
                };
                read.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
            (Self::Rsa(key), Hash::Sha1 | Hash::Sha256) => {
                let Ok(signature) = pkcs1v15::Signature::try_from(signature) else { return false };
                let key = key.as_ref().clone();
                let verified =
                    match hash {
                        Hash::Sha1 => pkcs1v15::VerifyingKey::<sha1::Sha1>::new(key)
                            .verify(message, &signature),
                        _ => pkcs1v15::VerifyingKey::<sha2::Sha256>::new(key)
                            .verify(message, &signature),
                    };
                verified.is_ok()
            }
            _ => false,
        }
    }
}

/// Proves a request by a signature over `parts`: ECDSA in ASN.1, or RSA.
pub(crate) fn prove_public<'r>(
    request: &Request<'r>,
    key: &PublicKey,
    hash: Hash,
    parts: &[&[u8]],
    claim: &[u8],
) -> Result<Proved<'r>, Rejection> {
    proved(request, parts, key.is_good(hash, Form::Der, &parts.concat(), claim))
}

/// The public key of a certificate, and the time for which it is good. Who issued it is not asked:
/// it came over https from a host that is the sender's alone.
pub(crate) struct Certified {
    pub(crate) key: PublicKey,
    from_s: i64,
    until_s: i64,
}

impl Certified {
    /// The first certificate of a PEM text. A public key by itself, as it may be pinned, is good at
    /// any time.
    pub(crate) fn from_pem(text: &[u8]) -> Option<Self> {
        if text.trim_ascii_start().starts_with(b"-----BEGIN PUBLIC KEY-----") {
            let key = PublicKey::from_public_pem(std::str::from_utf8(text).ok()?)?;
            return Some(Self { key, from_s: i64::MIN, until_s: i64::MAX });
        }
        const END: &[u8] = b"-----END CERTIFICATE-----";
        let end = text.windows(END.len()).position(|window| window == END)? + END.len();
        let certificate = Certificate::from_pem(text.get(..end)?).ok()?;
        let body = certificate.tbs_certificate();
        let key = PublicKey::from_der(&body.subject_public_key_info().to_der().ok()?)?;
        let validity = body.validity();
        let seconds = |time: &x509_cert::time::Time| time.to_unix_duration().as_secs() as i64;
        let (from_s, until_s) = (seconds(&validity.not_before), seconds(&validity.not_after));
        Some(Self { key, from_s, until_s })
    }

    /// Demands that the certificate is good at present.
    pub(crate) fn current(&self, window: Window) -> Result<(), Rejection> {
        match (self.from_s..=self.until_s).contains(&window.now_s) {
            true => Ok(()),
            false => Err(Rejection::KeyUnusable("its certificate is not good at present")),
        }
    }
}

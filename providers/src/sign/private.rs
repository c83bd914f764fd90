//! Private keys, for trying out sources whose senders sign with one. Whoever configures one here
//! plays the sender; the public half of it is what requests are proved by.

use ed25519_dalek::Signer;
use p256::ecdsa::signature::Signer as _;
use p256::pkcs8::{DecodePrivateKey, PrivateKeyInfoRef, SecretDocument};

use super::PublicKey;

/// A private key out of a PKCS#8 PEM. RSA is left out: its private operations are not safe here.
pub(crate) enum PrivateKey {
    P256(p256::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
}

/// The algorithm id of Ed25519.
const ED25519: p256::pkcs8::ObjectIdentifier =
    p256::pkcs8::ObjectIdentifier::new_unwrap("1.3.101.112");

impl PrivateKey {
    /// Reads a PEM that begins with `-----BEGIN PRIVATE KEY-----`.
    pub(crate) fn from_pem(text: &str) -> Option<Self> {
        if let Ok(key) = p256::ecdsa::SigningKey::from_pkcs8_pem(text) {
            return Some(Self::P256(key));
        }
        let (_, document) = SecretDocument::from_pem(text).ok()?;
        let info: PrivateKeyInfoRef<'_> = document.decode_msg().ok()?;
        // The 32 bytes are an octet string within an octet string.
        let bytes = info.private_key.as_bytes().strip_prefix(&[4, 32])?;
        let seed = <[u8; 32]>::try_from(bytes).ok().filter(|_| info.algorithm.oid == ED25519)?;
        Some(Self::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// The bytes of an Ed25519 key that others verify with.
    pub(crate) fn ed25519_public(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ed25519(key) => Some(key.verifying_key().to_bytes()),
            Self::P256(_) => None,
        }
    }

    /// The ECDSA key that others verify with.
    pub(super) fn p256_public(&self) -> Option<PublicKey> {
        match self {
            Self::P256(key) => Some(PublicKey::P256(*key.verifying_key())),
            Self::Ed25519(_) => None,
        }
    }

    /// Signs `parts`, one after another: ECDSA in ASN.1, or the 64 bytes of Ed25519.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        let message = parts.concat();
        match self {
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(&message).ok()?;
                Some(signature.to_der().as_bytes().to_vec())
            }
            Self::Ed25519(key) => Some(key.sign(&message).to_bytes().to_vec()),
        }
    }
}

//! How signatures and secrets are written: the hash behind them, hexadecimal or base64.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

/// The hash under an HMAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// MD5: only for senders that know nothing else, never by configuration.
    #[serde(skip)]
    Md5,
    /// SHA-1: only where the sender offers nothing better.
    Sha1,
    /// SHA-256: what nearly everyone uses.
    #[default]
    Sha256,
    /// SHA-512.
    Sha512,
}

/// How a signature is written in its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Hexadecimal. Either case is read, as the digest is decoded before it is compared.
    #[default]
    Hex,
    /// Base64 of the standard alphabet, padded.
    Base64,
    /// Base64 of the alphabet for URLs, unpadded: rare, never by configuration.
    #[serde(skip)]
    Base64Url,
}

/// Secrets are pasted by hand: the padding may be missing, and the last character may carry bits
/// that belong to no byte. Signatures are made by machines and held to the letter.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl Encoding {
    /// The bytes of a signature; `None` unless all of the text is of this encoding.
    pub(crate) fn read(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex::decode(text).ok(),
            Self::Base64 => STANDARD.decode(text).ok(),
            Self::Base64Url => URL_SAFE_NO_PAD.decode(text).ok(),
        }
    }

    /// The bytes of a secret: as [`Self::read`], but padding may be missing.
    pub(crate) fn read_secret(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex::decode(text).ok(),
            Self::Base64 => LENIENT.decode(text).ok(),
            Self::Base64Url => URL_SAFE_NO_PAD.decode(text).ok(),
        }
    }

    /// Writes a signature the way senders do: lower-case hexadecimal or padded base64.
    pub(crate) fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

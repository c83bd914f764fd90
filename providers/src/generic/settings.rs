//! The settings of configured senders, as they stand in a file. Unknown ones are refused, so that a
//! misspelt one is not silently left at its default.

use serde::Deserialize;

use crate::encoding::{Encoding, Hash};
use crate::text::Unit;

/// How the text of a secret becomes a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretForm {
    /// The text itself.
    #[default]
    Text,
    /// Hexadecimal.
    Hex,
    /// Base64, padding optional.
    Base64,
}

/// How a sender signs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HmacSettings {
    /// The header with the signature.
    pub header: String,
    /// The hash under the HMAC; SHA-256 unless said otherwise.
    #[serde(default)]
    pub algorithm: Hash,
    /// How the signature is written; hexadecimal unless said otherwise.
    #[serde(default)]
    pub encoding: Encoding,
    /// What stands before the signature, such as `sha256=`; demanded exactly.
    #[serde(default)]
    pub prefix: String,
    /// What is signed: text with `{body}` and, as needed, `{timestamp}`, `{id}`, `{method}` and
    /// `{url}`. `{id}` is the header that `event.key` names.
    #[serde(default = "body_only")]
    pub signed: String,
    /// The header with the signed time, for `{timestamp}`.
    pub timestamp_header: Option<String>,
    /// The unit of that time.
    #[serde(default)]
    pub timestamp_unit: Unit,
    /// How the secret becomes a key.
    #[serde(default)]
    pub secret: SecretForm,
    /// Where the events are to be read.
    pub event: EventSettings,
}

fn body_only() -> String {
    "{body}".to_owned()
}

/// How a sender shows its token.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSettings {
    /// The header with the token, such as `authorization`.
    pub header: String,
    /// What stands before the token, such as `Bearer `; demanded exactly.
    #[serde(default)]
    pub prefix: String,
    /// Where the events are to be read.
    pub event: EventSettings,
}

/// Where the events of a configured sender are to be read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSettings {
    /// The delivery id: `header:NAME`, `json:POINTER` or `digest`. Requests without it are refused,
    /// as guessing one would merge events or split a retry.
    pub key: String,
    /// What happened, if the sender says.
    pub kind: Option<String>,
    /// What it is about, if order matters.
    pub entity: Option<String>,
    /// When it happened: RFC 3339, or a number of `occurred_at_unit`.
    pub occurred_at: Option<String>,
    /// The unit of `occurred_at` where it is a number.
    #[serde(default)]
    pub occurred_at_unit: Unit,
    /// JSON pointers to fields that change between redeliveries of the same event.
    #[serde(default)]
    pub volatile: Vec<String>,
}

//! Why a request was not admitted. The text is for the operator: a sender only ever sees a status.
//! How far each check got is kept here too, since of several secrets the deepest reason is told.

use crate::KeyWanted;
use crate::json::NotJson;

/// Why a request was not admitted. The text goes to the operator, never to the sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// No line of this header.
    #[error("header {0} is missing")]
    HeaderMissing(&'static str),
    /// A line of this header without a value.
    #[error("header {0} is empty")]
    HeaderEmpty(&'static str),
    /// More than one line of a header that decides.
    #[error("header {0} appears more than once")]
    HeaderRepeated(&'static str),
    /// The header is not of the sender's form; the text says what was expected.
    #[error("header {0} is malformed: {1}")]
    HeaderMalformed(&'static str, &'static str),
    /// The body or the URL has no proof where this sender puts it.
    #[error("the proof is missing: {0}")]
    ProofMissing(&'static str),
    /// The proof in the body or the URL is not of the sender's form.
    #[error("the proof is malformed: {0}")]
    ProofMalformed(&'static str),
    /// Well-formed, and not made with this secret over these bytes.
    #[error("the signature does not match")]
    SignatureMismatch,
    /// The sender's key is elsewhere and not at hand.
    #[error("the sender's key is not at hand: {}", .0.url())]
    KeyWanted(KeyWanted),
    /// The key was fetched and is not one.
    #[error("the sender's key is unusable: {0}")]
    KeyUnusable(&'static str),
    /// The signature is good, its time is not.
    #[error("timestamp outside tolerance by {skew_s} s (signature good); check the clock here")]
    TimestampOutside {
        /// Signed time minus the time here, in seconds.
        skew_s: i64,
    },
    /// The secret cannot be used with this provider.
    #[error("the secret is unusable: {0}")]
    SecretUnusable(&'static str),
    /// Proved, but the body or a header cannot be read as an event.
    #[error("proved but unreadable: {0}")]
    Unreadable(&'static str),
}

impl Rejection {
    /// A short label for counters, from a closed set.
    pub fn label(&self) -> &'static str {
        match self {
            Self::HeaderMissing(_) | Self::HeaderEmpty(_) => "header_missing",
            Self::HeaderRepeated(_) => "header_repeated",
            Self::HeaderMalformed(..) => "header_malformed",
            Self::ProofMissing(_) => "proof_missing",
            Self::ProofMalformed(_) => "proof_malformed",
            Self::SignatureMismatch => "signature",
            Self::KeyWanted(_) => "key_wanted",
            Self::KeyUnusable(_) => "key_unusable",
            Self::TimestampOutside { .. } => "timestamp",
            Self::SecretUnusable(_) => "secret",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// How far a check got: of several secrets, the rejection that got furthest is told.
    pub(crate) fn depth(&self) -> u8 {
        match self {
            Self::SecretUnusable(_) => 0,
            Self::HeaderMissing(_)
            | Self::HeaderEmpty(_)
            | Self::HeaderRepeated(_)
            | Self::ProofMissing(_) => 1,
            Self::HeaderMalformed(..) | Self::ProofMalformed(_) => 2,
            Self::SignatureMismatch => 3,
            // Above a mismatch: of several secrets, one may be for this sender and lack its key.
            Self::KeyWanted(_) | Self::KeyUnusable(_) => 4,
            Self::TimestampOutside { .. } => 5,
            Self::Unreadable(_) => 6,
        }
    }
}

impl From<NotJson> for Rejection {
    fn from(_: NotJson) -> Self {
        Self::Unreadable("the body is not JSON")
    }
}

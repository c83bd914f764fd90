//! A shared secret: never empty, never shown. What its text means is each provider's own rule; the
//! only thing known here is how the wrong text looks, so that it can be reported before it is used.

use std::fmt;

/// The text of a secret as configured. Each provider decodes it by its own rule.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

/// How tokens begin that people paste by mistake: none of them is ever a signing secret.
#[rustfmt::skip]
const API_KEYS: &[&str] = &[
    "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_", "ghp_", "gho_", "ghs_",
    "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-", "shpat_",
];

impl Secret {
    /// `None` for an empty text: an HMAC under an empty key can be made by anyone.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The text, for the provider that decodes it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Says so if this is an API key and not a signing secret.
    pub(crate) fn api_key_fault(&self) -> Option<String> {
        let prefix = API_KEYS.iter().find(|prefix| self.0.starts_with(**prefix))?;
        Some(format!("looks like an API key ({prefix}...), not like a signing secret"))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

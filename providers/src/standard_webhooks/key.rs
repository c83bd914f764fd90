//! The secrets of Standard Webhooks: base64 after `whsec_` for the shared key, after `whpk_` for a
//! public one. The prefix of a shared key and the padding may be missing, as senders show both
//! spellings; nothing else is guessed, so a text that was signed with as it stands never matches.

use crate::sign::Encoding;
use crate::{Rejection, Secret};

/// What a secret turned out to be.
pub(crate) enum Key {
    /// The key of the HMAC, for `v1`.
    Shared(Vec<u8>),
    /// The public half of a pair, for `v1a`.
    Public(Vec<u8>),
}

impl Key {
    /// Reads a secret. `prefix_v1` is for senders who show `v1,` as a part of it.
    pub(crate) fn read(secret: &Secret, prefix_v1: bool) -> Result<Self, Rejection> {
        let text = secret.expose();
        let text = if prefix_v1 { text.strip_prefix("v1,").unwrap_or(text) } else { text };
        if text.starts_with("whsk_") {
            return Err(Rejection::SecretUnusable("it is the sender's private key, not whpk_..."));
        }
        let public = text.strip_prefix("whpk_");
        let encoded = public.or(text.strip_prefix("whsec_")).unwrap_or(text);
        match Encoding::Base64.read_secret(encoded) {
            None => Err(Rejection::SecretUnusable("it is not base64 after its prefix")),
            Some(bytes) if bytes.is_empty() => Err(Rejection::SecretUnusable("its key is empty")),
            Some(bytes) if public.is_none() => Ok(Self::Shared(bytes)),
            Some(bytes) if bytes.len() == 32 => Ok(Self::Public(bytes)),
            Some(_) => Err(Rejection::SecretUnusable("a public key has 32 bytes")),
        }
    }

    /// Says what is wrong with a secret, in the operator's words.
    pub(crate) fn fault(secret: &Secret, prefix_v1: bool) -> Option<String> {
        let text = secret.expose();
        if text.starts_with("v1,") && !prefix_v1 {
            return Some("starts with v1, - did you mean whsec_...?".to_owned());
        }
        if text.contains('|') {
            return Some("holds several secrets; list them one by one".to_owned());
        }
        let fault = |rejection| match rejection {
            Rejection::SecretUnusable(fault) => fault.to_owned(),
            other => other.to_string(),
        };
        secret.api_key_fault().or_else(|| Self::read(secret, prefix_v1).err().map(fault))
    }
}

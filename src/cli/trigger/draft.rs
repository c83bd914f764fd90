//! Makes the request that `trigger` sends: the body, the changes to it, and the signature.

use super::edit::edited;
use crate::cli::failure::Failure;
use crate::clock::wall_us;
use crate::source::Source;
use providers::{Draft, Secret, Signed};

/// What all requests of one call have in common.
pub(super) struct Plan<'p> {
    pub(super) source: &'p Source,
    pub(super) event: &'p str,
    pub(super) body: Option<Vec<u8>>,
    /// JSON pointers and values.
    pub(super) changes: Vec<(String, String)>,
    pub(super) tamper: bool,
}

impl Plan<'_> {
    /// Signs a request under a key as the provider would.
    pub(super) fn sign(&self, key: &str) -> Result<Signed, Failure> {
        let source = self.source;
        let anyone = Secret::new("unsigned").filter(|_| source.unsigned);
        let Some(secret) = source.secrets.first().or(anyone.as_ref()) else {
            let text = format!("the source {} has no secret yet: it is pending", source.name);
            return Err(Failure::Usage(text));
        };
        let now_s = wall_us() / 1_000_000;
        let url = source.public_url.as_deref().unwrap_or("");
        let draft = Draft { kind: self.event, key, body: self.body.as_deref(), now_s, url };
        let sign = |draft: &Draft<'_>| {
            source.provider.sign(draft, secret).ok_or_else(|| {
                let name = source.provider.name();
                Failure::Usage(format!("requests of {name} cannot be signed here: only it can"))
            })
        };
        let mut signed = sign(&draft)?;
        if !self.changes.is_empty() {
            let body = edited(&signed, &self.changes).map_err(Failure::Usage)?;
            signed = sign(&Draft { body: Some(&body), ..draft })?;
        }
        if self.tamper {
            let middle = signed.body.len() / 2;
            match signed.body.get_mut(middle) {
                Some(byte) => *byte ^= 1,
                None => return Err(Failure::Usage("an empty body cannot be tampered with".into())),
            }
        }
        Ok(signed)
    }
}

//! Makes the request that `trigger` sends: the body, the changes to it, and the signature.

use super::edit::edited;
use crate::cli::failure::Failure;
use crate::clock::wall_us;
use crate::source::Source;
use providers::{Draft, Secret, Signed};

/// When a sample under a key of one's own happened, in seconds since 1970: always at the same
/// moment, so that the same key is the same event whenever it is sent.
const SAMPLE_S: i64 = 1_767_225_600;

/// What all requests of one call have in common.
pub(super) struct Plan<'p> {
    pub(super) source: &'p Source,
    pub(super) event: &'p str,
    pub(super) body: Option<Vec<u8>>,
    /// JSON pointers and values.
    pub(super) changes: Vec<(String, String)>,
    /// The key was chosen, so that the event may be meant to come again.
    pub(super) is_named: bool,
    pub(super) tamper: bool,
}

impl Plan<'_> {
    /// The secret to sign with: where anyone may send, any will do.
    fn secret(&self) -> Result<Secret, Failure> {
        let anyone = || Secret::new("unsigned").filter(|_| self.source.unsigned);
        self.source.secrets.first().cloned().or_else(anyone).ok_or_else(|| {
            let name = &self.source.name;
            Failure::Usage(format!("the source {name} has no secret yet: it is pending"))
        })
    }

    /// The query that the URL carries, if the secret stands there.
    pub(super) fn query(&self) -> Result<Option<String>, Failure> {
        Ok(self.source.provider.query(&self.secret()?))
    }

    /// Signs a request under a key as the provider would.
    pub(super) fn sign(&self, key: &str) -> Result<Signed, Failure> {
        let (source, secret) = (self.source, &self.secret()?);
        let now_s = wall_us() / 1_000_000;
        let url = source.public_url.as_deref().unwrap_or("");
        let own = self.body.as_deref();
        let draft = Draft { kind: self.event, key, body: own, now_s, url };
        let sign = |draft: &Draft<'_>| {
            source.provider.sign(draft, secret).ok_or_else(|| {
                let name = source.provider.name();
                Failure::Usage(format!("requests of {name} cannot be signed here: only it can"))
            })
        };
        let is_again = self.is_named && own.is_none();
        let mut signed = sign(&Draft { now_s: if is_again { SAMPLE_S } else { now_s }, ..draft })?;
        if is_again || !self.changes.is_empty() {
            let body = match self.changes.is_empty() {
                true => signed.body,
                false => edited(&signed, &self.changes).map_err(Failure::Usage)?,
            };
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

//! The three headers of Standard Webhooks and the proof in them: `{id}.{time}.{body}` is signed.

use super::Key;
use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::Unit;
use crate::{Draft, Rejection, Request, Verified, Window};

/// The names of the three headers: id, time, signatures.
pub(crate) struct Trio {
    pub(crate) id: &'static str,
    pub(crate) time: &'static str,
    pub(crate) signature: &'static str,
}

pub(crate) const WEBHOOK: Trio =
    Trio { id: "webhook-id", time: "webhook-timestamp", signature: "webhook-signature" };
pub(crate) const SVIX_TRIO: Trio =
    Trio { id: "svix-id", time: "svix-timestamp", signature: "svix-signature" };

impl Trio {
    /// Proves a request that carries this trio.
    pub(crate) fn verify<'r>(
        &self,
        request: &Request<'r>,
        key: &Key,
        window: Window,
    ) -> Verified<'r> {
        let signatures = request.header(self.signature)?;
        let (id, time) = (request.header(self.id)?, request.header(self.time)?);
        let stamp = Stamp::read(self.time, time, Unit::Seconds)?;
        let parts = [id, b".", time, b".", request.body];
        let version: &[u8] = match key {
            Key::Shared(_) => b"v1,",
            Key::Public(_) => b"v1a,",
        };
        // Versions that are unknown or need another key are skipped, as the specification asks.
        let entries = signatures.split(|byte| *byte == b' ');
        let read = |entry: &[u8]| Encoding::Base64.read(entry.strip_prefix(version)?);
        let claims: Vec<Vec<u8>> = entries.filter_map(read).filter(|c| !c.is_empty()).collect();
        if claims.is_empty() {
            return Err(Rejection::HeaderMalformed(self.signature, "no signature of this version"));
        }
        let proved = match key {
            Key::Shared(key) => sign::prove_hmac(request, Hash::Sha256, key, &parts, &claims),
            Key::Public(key) => sign::prove_ed25519(request, key, &parts, &claims),
        };
        proved?.within(stamp, window)
    }

    /// The three headers over a body; `None` for a public key, whose other half is the sender's.
    pub(crate) fn sign(
        &self,
        draft: &Draft<'_>,
        key: &Key,
        body: &[u8],
    ) -> Option<[(String, String); 3]> {
        let Key::Shared(key) = key else { return None };
        let time = draft.now_s.to_string();
        let parts = [draft.key.as_bytes(), b".", time.as_bytes(), b".", body];
        let tag = sign::hmac(Hash::Sha256, key, &parts)?;
        let signature = format!("v1,{}", Encoding::Base64.write(&tag));
        Some([
            (self.id.to_owned(), draft.key.to_owned()),
            (self.time.to_owned(), time),
            (self.signature.to_owned(), signature),
        ])
    }
}

//! The commonest scheme of all: one HMAC over the raw body, alone in one header. No time is signed
//! along, so only the key of an event stops a repeat. Which header it is, and how the digest is
//! written there, is for the provider to say.

use crate::sign::{self, Encoding, Hash};
use crate::{Request, Signed, Verified, example};

/// Where such a signature stands, and how it is written.
pub(crate) struct BodyTag {
    /// The header, lower case.
    pub(crate) header: &'static str,
    /// What stands before the digest; demanded to the letter.
    pub(crate) prefix: &'static str,
    /// How the digest is written.
    pub(crate) encoding: Encoding,
    hash: Hash,
}

impl BodyTag {
    /// HMAC-SHA256, as nearly everyone has it.
    pub(crate) const fn new(
        header: &'static str,
        prefix: &'static str,
        encoding: Encoding,
    ) -> Self {
        Self { header, prefix, encoding, hash: Hash::Sha256 }
    }

    /// The same with the weaker hash of senders that know no better.
    pub(crate) const fn with(self, hash: Hash) -> Self {
        Self { hash, ..self }
    }

    /// Whether the header is there at all.
    pub(crate) fn is_in(&self, request: &Request<'_>) -> bool {
        request.header_lines(self.header).next().is_some()
    }

    /// Proves the body by the signature in the header.
    pub(crate) fn verify<'r>(&self, request: &Request<'r>, key: &[u8]) -> Verified<'r> {
        let claim = sign::claimed(request, self.header, self.prefix, self.encoding)?;
        sign::prove_hmac(request, self.hash, key, &[request.body], &[claim])
    }

    /// A JSON body with its signature and the sender's other headers.
    pub(crate) fn sign(
        &self,
        key: &[u8],
        body: Vec<u8>,
        others: &[(&str, &str)],
    ) -> Option<Signed> {
        let tag = sign::hmac(self.hash, key, &[&body])?;
        let value = format!("{}{}", self.prefix, self.encoding.write(&tag));
        let mut headers = example::headers(&[("Content-Type", "application/json")]);
        headers.extend(example::headers(others));
        headers.push((self.header.to_owned(), value));
        Some(Signed { headers, body })
    }
}

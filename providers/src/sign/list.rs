//! Headers that list their parts, such as `t=1767225597,v1=ab..,v1=cd..`: a time and, while a
//! secret is rolled, several signatures. Nothing is judged here.

use super::Encoding;
use crate::{Rejection, Request};

/// How such a header is written.
pub(crate) struct TagList {
    /// The header, lower case.
    pub(crate) header: &'static str,
    /// What stands between its entries; some senders put a space after it.
    pub(crate) separator: u8,
    /// What stands before the time.
    pub(crate) time: &'static str,
    /// What stands before a signature of the version that counts.
    pub(crate) tag: &'static str,
    /// How a signature is written.
    pub(crate) encoding: Encoding,
}

impl TagList {
    /// `t=..,v1=..` with hexadecimal signatures, the commonest form.
    pub(crate) const fn of(header: &'static str) -> Self {
        Self { header, separator: b',', time: "t=", tag: "v1=", encoding: Encoding::Hex }
    }

    /// The signatures. Other versions and unreadable entries are skipped, as the senders' own
    /// libraries do.
    pub(crate) fn tags(&self, request: &Request<'_>) -> Result<Vec<Vec<u8>>, Rejection> {
        let texts = self.entries(request.header(self.header)?, self.tag);
        let claims = texts.filter_map(|text| self.encoding.read(text));
        let claims: Vec<Vec<u8>> = claims.filter(|claim| !claim.is_empty()).collect();
        match claims.is_empty() {
            true => self.malformed("it has no signature that can be read"),
            false => Ok(claims),
        }
    }

    /// The time, as written, and the signatures. A second time is refused, as it leaves open which
    /// counts.
    pub(crate) fn timed<'r>(
        &self,
        request: &Request<'r>,
    ) -> Result<(&'r [u8], Vec<Vec<u8>>), Rejection> {
        let mut times = self.entries(request.header(self.header)?, self.time);
        match (times.next(), times.next()) {
            (Some(time), None) => Ok((time, self.tags(request)?)),
            (None, _) => self.malformed("it has no time"),
            _ => self.malformed("it has two times"),
        }
    }

    /// What stands behind a name, entry by entry.
    fn entries<'h>(&self, value: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
        let (separator, name) = (self.separator, name.as_bytes());
        let entries = value.split(move |byte| *byte == separator);
        entries.filter_map(move |entry| entry.trim_ascii_start().strip_prefix(name))
    }

    fn malformed<T>(&self, what: &'static str) -> Result<T, Rejection> {
        Err(Rejection::HeaderMalformed(self.header, what))
    }
}

//! A header that lists a time and several signatures, such as `ts=1;h1=aa;h1=bb`: several stand
//! there while a secret is rotated, and any of them may be the one. Nothing is compared here.

use crate::Rejection;

/// How such a header is written.
pub(crate) struct TagList {
    /// The header, lower case.
    pub(crate) header: &'static str,
    /// What stands between its entries.
    pub(crate) separator: u8,
    /// What stands before the time.
    pub(crate) time: &'static str,
    /// What stands before a signature of the version that counts.
    pub(crate) tag: &'static str,
    /// Reads a signature; `None` unless all of the text is one.
    pub(crate) read: fn(&[u8]) -> Option<Vec<u8>>,
}

impl TagList {
    /// The time, as written, and the signatures. Other versions and unreadable entries are skipped
    /// as the senders' own libraries do; a second time is refused, as it leaves open which counts.
    pub(crate) fn read<'h>(&self, value: &'h [u8]) -> Result<(&'h [u8], Vec<Vec<u8>>), Rejection> {
        let malformed = |what| Err(Rejection::HeaderMalformed(self.header, what));
        let (mut time, mut claims) = (None, Vec::new());
        for entry in value.split(|byte| *byte == self.separator) {
            if let Some(text) = entry.strip_prefix(self.time.as_bytes()) {
                if time.replace(text).is_some() {
                    return malformed("it has two times");
                }
            } else if let Some(text) = entry.strip_prefix(self.tag.as_bytes()) {
                claims.extend((self.read)(text).filter(|claim| !claim.is_empty()));
            }
        }
        match time {
            Some(time) if !claims.is_empty() => Ok((time, claims)),
            _ => malformed("expected a time and a signature of its version"),
        }
    }
}

//! Headers that list their parts, such as `t=1767225597,v1=ab..,v1=cd..`: a time and, while a
//! secret is rolled, several signatures. Nothing is judged here.

use super::Encoding;
use crate::{Rejection, Request};

/// The hexadecimal signatures that stand behind `name`, such as `v1=`. Entries of other names
/// and those that cannot be decoded are skipped, as senders' own libraries do.
pub(crate) fn listed(
    request: &Request<'_>,
    header: &'static str,
    name: &str,
) -> Result<Vec<Vec<u8>>, Rejection> {
    let read = entries(request.header(header)?, name).filter_map(|text| Encoding::Hex.read(text));
    let claims: Vec<Vec<u8>> = read.filter(|claim| !claim.is_empty()).collect();
    match claims.is_empty() {
        true => Err(Rejection::HeaderMalformed(header, "it has no signature that can be read")),
        false => Ok(claims),
    }
}

/// As [`listed`], with the time behind `time`, such as `t=`. A second time is refused, as it
/// leaves open which counts.
pub(crate) fn listed_with_time<'r>(
    request: &Request<'r>,
    header: &'static str,
    time: &str,
    name: &str,
) -> Result<(&'r [u8], Vec<Vec<u8>>), Rejection> {
    let mut times = entries(request.header(header)?, time);
    match (times.next(), times.next()) {
        (Some(time), None) => Ok((time, listed(request, header, name)?)),
        (None, _) => Err(Rejection::HeaderMalformed(header, "it has no time")),
        _ => Err(Rejection::HeaderMalformed(header, "it has two times")),
    }
}

/// What stands behind a name, entry by entry; some senders put a space after the comma.
fn entries<'h>(value: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    let name = name.as_bytes();
    value
        .split(|byte| *byte == b',')
        .filter_map(move |entry| entry.trim_ascii_start().strip_prefix(name))
}

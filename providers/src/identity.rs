//! What a key, a kind and an entity may look like, whoever sent them: bounded, printable where it
//! matters, and free of U+0000, which PostgreSQL's TEXT refuses. A key is never cut or mended,
//! since two long keys with the same beginning would become one; it is taken whole or refused.

use crate::{Rejection, Request, json};
use sha2::{Digest, Sha256};

/// Bytes of a key. Senders' ids have 20 to 300; more is not an id.
pub const KEY_BYTES_MAX: usize = 512;
/// Characters of a kind; the rest is cut, as a kind is for filters and people.
pub const KIND_CHARS_MAX: usize = 128;
/// Bytes of an entity. A longer one is replaced by its digest, so that lanes stay apart.
pub const ENTITY_BYTES_MAX: usize = 256;

/// Takes an id as a key, whole or not at all.
pub(crate) fn key(id: &[u8]) -> Result<String, Rejection> {
    if id.is_empty() || id.len() > KEY_BYTES_MAX {
        return Err(Rejection::Unreadable("the delivery id is empty or longer than 512 bytes"));
    }
    match std::str::from_utf8(id) {
        Ok(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(Rejection::Unreadable("the delivery id is not printable text")),
    }
}

/// The key in a header that a genuine sender always sends, exactly once.
pub(crate) fn header_key(request: &Request<'_>, name: &'static str) -> Result<String, Rejection> {
    match request.header(name) {
        Ok(id) => key(id),
        Err(_) => Err(Rejection::Unreadable("the delivery id is absent, empty or repeated")),
    }
}

/// A key for senders that give none: the digest of what stays equal over their retries.
///
/// Each part is preceded by its length, so that no two lists of parts run into the same bytes.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    format!("sha256:{}", hex::encode(hash.finalize()))
}

/// A key for what has no id of its own, a body or one item of it: the digest of where it belongs
/// and of what it says, however that is spaced and ordered, without the fields that differ between
/// its deliveries.
pub(crate) fn content_digest(place: &[&str], content: &[u8], volatile: &[&str]) -> String {
    let canonical = json::canonical(content, volatile);
    let mut parts: Vec<&[u8]> = place.iter().map(|text| text.as_bytes()).collect();
    parts.push(canonical.as_deref().unwrap_or(content));
    digest(&parts)
}

/// A kind from its parts, joined by dots; absent and empty parts leave no trace.
pub(crate) fn kind(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    let printable = parts.join(".");
    printable.chars().filter(|letter| !letter.is_control()).take(KIND_CHARS_MAX).collect()
}

/// The text of a header, or "" where there is none that can be read as one.
pub(crate) fn header_text(request: &Request<'_>, name: &'static str) -> String {
    let value = request.header(name).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// An entity from its parts, joined by slashes; `None` if any of them is not known.
pub(crate) fn entity(parts: &[Option<&str>]) -> Option<String> {
    let known: Option<Vec<&str>> =
        parts.iter().map(|part| part.filter(|text| !text.is_empty())).collect();
    let text = known?.join("/").replace('\0', "");
    match text.len() {
        0 => None,
        1..=ENTITY_BYTES_MAX => Some(text),
        _ => Some(digest(&[text.as_bytes()])),
    }
}

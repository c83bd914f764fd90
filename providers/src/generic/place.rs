//! One place in a request, as a setting names it.

use crate::json;

/// One place in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Header(&'static str),
    Json(String),
    Digest,
}

/// Reads a setting such as `json:/data/id`.
pub(super) fn place(text: &str) -> Result<Place, String> {
    if text == "digest" {
        return Ok(Place::Digest);
    }
    match text.split_once(':') {
        Some(("header", name)) if is_credential(name) => {
            Err(format!("{name:?} carries credentials, which are never stored"))
        }
        Some(("header", name)) => Ok(Place::Header(header_name(name)?)),
        Some(("json", pointer)) => match json::pointer_fault(pointer) {
            Some(fault) => Err(fault.to_owned()),
            None => Ok(Place::Json(pointer.to_owned())),
        },
        _ => Err(format!("{text:?} is neither header:NAME nor json:/POINTER")),
    }
}

fn is_credential(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie"]
        .iter()
        .any(|credential| name.eq_ignore_ascii_case(credential))
}

/// Checks the name of a header and makes it lower case, as in [`crate::Request`].
pub(super) fn header_name(name: &str) -> Result<&'static str, String> {
    let name = name.to_ascii_lowercase();
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(format!("{name:?} is not the name of a header"));
    }
    Ok(kept(name))
}

/// Keeps a name for as long as the process lives.
pub(super) fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

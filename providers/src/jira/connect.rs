//! What a token of a Connect app says of the request: the hash of its method, path and query.

use std::collections::BTreeMap;

use crate::text::form_fields;
use crate::{Request, sign};

/// The token, in `Authorization: JWT ...`.
pub(super) fn token<'r>(request: &Request<'r>) -> Option<&'r [u8]> {
    let (scheme, token) = request.header("authorization").ok()?.split_at_checked(4)?;
    scheme.eq_ignore_ascii_case(b"jwt ").then_some(token)
}

/// Segments of a path that are tried as the end of the app's base URL.
const SEGMENTS_MAX: usize = 8;

/// The hashes that the token may carry. The path is signed without that of the app's base URL,
/// which is not known here, so each end of the path is good.
pub(super) fn query_hashes(request: &Request<'_>) -> Vec<String> {
    let (path, query) = request.target().split_once('?').unwrap_or((request.target(), ""));
    let query = canonical(query);
    let ends = path.match_indices('/').map(|(at, _)| &path[at..]).take(SEGMENTS_MAX);
    let hash = |path: &str| {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let path = path.replace('&', "%26");
        sign::sha256_hex(format!("{}&{path}&{query}", request.method).as_bytes())
    };
    ends.chain(["/"]).map(hash).collect()
}

/// Names and values escaped and sorted, the values of one name in one place; not the token itself.
fn canonical(query: &str) -> String {
    let mut fields = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in form_fields(query.as_bytes()).filter(|(name, _)| **name != *b"jwt") {
        fields.entry(escaped(&name)).or_default().push(escaped(&value));
    }
    let pair = |(name, mut values): (String, Vec<String>)| {
        values.sort_unstable();
        format!("{name}={}", values.join(","))
    };
    fields.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

fn escaped(text: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.iter().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(method: &str, url: &str) -> Vec<String> {
        query_hashes(&Request { method, url, headers: &[], body: b"" })
    }

    fn has(url: &str, canonical: &str) -> bool {
        hashes("POST", url).contains(&sign::sha256_hex(canonical.as_bytes()))
    }

    #[test]
    fn the_path_may_end_the_base_url_at_any_segment_and_nowhere_else() {
        let url = "https://app.example.com/base/hooks/jira/?b=2&a=%C3%A9+x&b=1&jwt=t";
        let query = "a=%C3%A9%20x&b=1,2";
        for path in ["/base/hooks/jira", "/hooks/jira", "/jira", "/"] {
            assert!(has(url, &format!("POST&{path}&{query}")), "{path}");
        }
        for path in ["/hooks", "/base/hooks", "/ira", "", "/base/hooks/jira/"] {
            assert!(!has(url, &format!("POST&{path}&{query}")), "{path}");
        }
        assert!(!has(url, &format!("GET&/jira&{query}")) && !has(url, "POST&/jira&"));
        assert!(has("https://app.example.com", "POST&/&"));
        assert!(hashes("POST", &format!("https://a{}", "/x".repeat(1000))).len() < 10);
    }
}

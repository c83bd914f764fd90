//! The spellings of one URL that Twilio may have signed: with its port or without, and with an
//! apostrophe raw or escaped. Scheme, host, path and query are the configured ones throughout.

/// The candidates, the configured one first. Its path and query are never changed otherwise.
pub(super) fn candidates(url: &str) -> Vec<String> {
    let mut found = vec![url.to_owned()];
    if let Some((scheme, rest)) = url.split_once("://") {
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let host_at = authority.find('@').map_or(0, |at| at + 1);
        let (host, port) = match authority[host_at..].rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (&authority[host_at..], ""),
        };
        let user = &authority[..host_at];
        found.push(match (port, scheme) {
            ("", "http") => format!("{scheme}://{user}{host}:80{path}"),
            ("", _) => format!("{scheme}://{user}{host}:443{path}"),
            _ => format!("{scheme}://{user}{host}{path}"),
        });
    }
    let quoted = |url: &String| match (url.contains('\''), url.contains("%27")) {
        (true, _) => Some(url.replace('\'', "%27")),
        (false, true) => Some(url.replace("%27", "'")),
        _ => None,
    };
    let others: Vec<String> = found.iter().filter_map(quoted).collect();
    found.extend(others);
    found
}

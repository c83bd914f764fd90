//! Public keys that live elsewhere. The crate never fetches one: it says which it wants, and is
//! asked again with it in hand.

use crate::Secret;

/// A key that a proof cannot do without. Whoever fetches it keeps to https and to the hosts named
/// here, follows no redirect, bounds time and size, and remembers what is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyWanted {
    /// A document at a URL that the request names.
    Document {
        /// The URL, checked to be https and of one of `hosts`.
        url: String,
        /// The hosts it may be of; a `*` stands for one label of the name.
        hosts: &'static [&'static str],
    },
    /// One key out of the list that the sender publishes.
    Listed {
        /// Where the list is: an https URL that is the sender's own and never the request's.
        endpoint: &'static str,
        /// The key's id. It is anyone's to choose, so ids that are not found must be remembered.
        id: String,
        /// What to post there, credentials included; `None` to get it.
        post: Option<Secret>,
    },
}

impl KeyWanted {
    /// The URL to ask.
    pub fn url(&self) -> &str {
        match self {
            Self::Document { url, .. } => url,
            Self::Listed { endpoint, .. } => endpoint,
        }
    }

    /// Whether the key may be fetched from a host.
    pub fn allows(&self, host: &str) -> bool {
        match self {
            Self::Document { hosts, .. } => hosts.iter().any(|pattern| is_of(host, pattern)),
            Self::Listed { endpoint, .. } => host_of(endpoint) == Some(host),
        }
    }

    /// Wants the document at `url`; `None` unless it is one of the sender's own.
    pub(crate) fn document(url: &str, hosts: &'static [&'static str]) -> Option<Self> {
        is_of_hosts(url, hosts).then(|| Self::Document { url: url.to_owned(), hosts })
    }
}

/// Whether a URL is https, of one of `hosts`, on the usual port, and free of credentials and
/// oddities that two readers could understand differently.
pub(crate) fn is_of_hosts(url: &str, hosts: &[&str]) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>#@%".contains(&byte);
    let known = hosts.iter().any(|pattern| is_of(host_of(url).unwrap_or_default(), pattern));
    let path = url.split('?').next().unwrap_or_default();
    known && url.bytes().all(plain) && !path.contains("..") && url.len() < 1024
}

fn host_of(url: &str) -> Option<&str> {
    url.strip_prefix("https://")?.split('/').next()
}

fn is_of(host: &str, pattern: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let label = |label: &str, pattern: &str| match pattern {
        "*" => !label.is_empty() && label.bytes().all(plain),
        pattern => label == pattern,
    };
    host.split('.').count() == pattern.split('.').count()
        && host.split('.').zip(pattern.split('.')).all(|(one, other)| label(one, other))
}

/// The keys at hand.
pub trait Keys {
    /// The text that was found for a key: a document, or the list that has it.
    fn get(&self, wanted: &KeyWanted) -> Option<&[u8]>;
}

/// No key at hand: every remote one is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

impl Keys for NoKeys {
    fn get(&self, _: &KeyWanted) -> Option<&[u8]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::KeyWanted;

    #[test]
    fn only_plain_https_urls_of_the_senders_hosts_are_wanted() {
        let wanted = |url: &str| KeyWanted::document(url, &["k.*.example.com", "keys.org"]);
        let good = wanted("https://k.a-1.example.com/x/y.pem?z=1").unwrap();
        assert!(good.allows("k.b.example.com") && good.allows("keys.org"));
        assert!(!good.allows("k.b.c.example.com") && !good.allows("example.com"));
        assert!(wanted("https://keys.org").is_some());
        for url in [
            "http://keys.org/",
            "HTTPS://keys.org/",
            "https://KEYS.org/",
            "https://k.example.com/",
            "https://k..example.com/",
            "https://bucket.k.a.example.com/",
            "https://k.a.example.com.evil.org/",
            "https://k.a.b.example.com/",
            "https://evilkeys.org/",
            "https://evil.org/keys.org/",
            "https://evil.org?keys.org/",
            "https://evil.org\\keys.org/",
            "https://u@keys.org/",
            "https://keys.org/@x",
            "https://keys.org/a/../b",
            "https://keys.org/a/%2e%2E/b",
            "https://keys.org:8443/",
            "https://keys.org./",
            "https://keys.org/\u{e9}",
            "https://keys.org/ x",
            "https://evil.org#keys.org/",
            &format!("https://keys.org/{}", "x".repeat(2000)),
        ] {
            assert!(wanted(url).is_none(), "{url}");
        }
    }
}

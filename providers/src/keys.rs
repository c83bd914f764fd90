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
        /// The hosts it may be of; one that begins with a dot stands for every name below it.
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

    /// Wants the document at `url`; `None` unless that is https, of one of `hosts`, on the usual
    /// port, and free of credentials and oddities that two readers could understand differently.
    pub(crate) fn document(url: &str, hosts: &'static [&'static str]) -> Option<Self> {
        let rest = url.strip_prefix("https://")?;
        let host = rest.split('/').next()?;
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>#@".contains(&byte);
        let name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let known = hosts.iter().any(|known| match known.starts_with('.') {
            true => host.len() > known.len() && host.ends_with(known),
            false => host == *known,
        });
        let good = known && host.bytes().all(name) && rest.bytes().all(plain) && url.len() < 1024;
        good.then(|| Self::Document { url: url.to_owned(), hosts })
    }
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
        let wanted = |url: &str| KeyWanted::document(url, &[".example.com", "keys.org"]).is_some();
        assert!(wanted("https://a.example.com/x/y.pem?z=1") && wanted("https://keys.org"));
        for url in [
            "http://a.example.com/",
            "HTTPS://a.example.com/",
            "https://example.com/",
            "https://.example.com/",
            "https://a.example.com.evil.org/",
            "https://evilexample.com/",
            "https://evil.org/a.example.com/",
            "https://evil.org?a.example.com/",
            "https://evil.org\\.example.com/",
            "https://u@a.example.com/",
            "https://evil.org/@a.example.com/",
            "https://a.example.com:8443/",
            "https://a.example.com/\u{e9}",
            "https://a.example.com/ x",
            "https://evil.org#a.example.com/",
            &format!("https://a.example.com/{}", "x".repeat(2000)),
        ] {
            assert!(!wanted(url), "{url}");
        }
    }
}

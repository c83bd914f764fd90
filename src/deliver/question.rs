//! Asks a destination whether an attempt of unknown outcome happened after all.
//!
//! One GET, with the destination's own headers and under its rules about addresses. It decides
//! nothing, and no answer but a plain yes or no counts as one.

use super::facts::idempotency_key;
use super::http::get_client;
use crate::job::Lease;
use crate::source::Reconcile;
use reqwest::Client;
use reqwest::header::HeaderMap;
use std::fmt::Write;
use url::Url;

/// What a destination says about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It happened.
    Happened,
    /// It did not.
    DidNot,
    /// No answer to rely on, and why.
    Nothing(String),
}

/// A destination that can be asked.
pub(super) struct Question {
    url: String,
    client: Client,
    headers: HeaderMap,
    allow_private: bool,
}

impl Question {
    /// Prepares the question. `headers` are those that the destination gets with deliveries.
    pub(super) fn new(settings: &Reconcile, headers: HeaderMap) -> Result<Self, String> {
        let example = Url::parse(&settings.url.replace(Reconcile::KEY, "key"))
            .map_err(|_| "reconcile: not a URL".to_owned())?;
        let client = get_client(&example, settings.allow_private)?;
        let (url, allow_private) = (settings.url.clone(), settings.allow_private);
        Ok(Self { url, client, headers, allow_private })
    }

    /// Asks about a lease.
    pub(super) async fn ask(&self, lease: &Lease) -> Told {
        let url = self.url.replace(Reconcile::KEY, &component(&idempotency_key(lease)));
        let Ok(url) = Url::parse(&url) else { return Told::Nothing("not a URL".into()) };
        if !self.allow_private
            && let Some(forbidden) = super::address::forbidden_literal(&url)
        {
            return Told::Nothing(forbidden.to_string());
        }
        match self.client.get(url).headers(self.headers.clone()).send().await {
            Ok(answer) => match answer.status().as_u16() {
                200 => Told::Happened,
                404 => Told::DidNot,
                status => Told::Nothing(format!("status {status}")),
            },
            Err(error) if error.is_timeout() => Told::Nothing("no answer in time".into()),
            Err(_) => Told::Nothing("no answer".into()),
        }
    }
}

/// Percent-encodes all but the unreserved characters: the text is one part of a path or query.
fn component(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_part_of_a_path_whatever_is_in_it() {
        assert_eq!(component("gh:7d3c-0.8_2~"), "gh%3A7d3c-0.8_2~");
        assert_eq!(component("a/b?c#d%20e"), "a%2Fb%3Fc%23d%2520e");
    }
}

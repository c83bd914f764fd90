//! Public keys that senders keep elsewhere, such as the certificates of Amazon SNS, and links that
//! they want visited.
//!
//! Pinned keys come from the configuration and are never fetched. All others are fetched by https
//! from the sender's own hosts only, and remembered, those that are not there too: whoever forges
//! requests must not make us ask for anything again and again. It proves nothing.

mod cache;
#[cfg(test)]
mod cache_tests;
mod https;
#[cfg(test)]
mod https_tests;
mod visit;
#[cfg(test)]
mod visit_tests;

pub use visit::Visited;

use crate::config::RemoteKeys;
use crate::delivery::Micros;
use crate::telemetry::Metrics;
use bytes::Bytes;
use cache::{Cache, KEYS};
use https::Https;
use providers::{KeyWanted, Keys, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;
use url::{Host, Url};

/// Pinned texts by URL; of a list, also by `URL#ID`.
pub type Pinned = BTreeMap<String, Secret>;

/// A text in which a key is, and since when it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    text: Bytes,
    at_us: Micros,
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfetched {
    /// No key of the sender is there: the request is a forgery.
    #[error("{0}")]
    Forged(String),
    /// It could not be asked, or did not answer: the request may be genuine.
    #[error("{0}")]
    Failed(String),
}

/// Where a key is, checked.
#[derive(Clone, Debug)]
struct Place {
    url: Url,
    /// What is posted there, credentials included.
    post: Option<Secret>,
    /// Under what its text is remembered.
    name: String,
    /// What shares an allowance of fetches: all hosts of one sender.
    realm: &'static str,
    /// The request chose it.
    is_named: bool,
}

/// Finds keys: among the pinned ones, in memory, or out there.
pub struct Remote {
    cache: Cache<Https>,
    visits: Cache<Https>,
    is_fetching: bool,
}

impl Remote {
    /// Nothing is known yet, and no connection made.
    pub fn new(settings: &RemoteKeys, metrics: Arc<Metrics>) -> Self {
        let https = || Https::new(settings.timeout);
        let visits = Cache::new(https(), visit::VISITED_AGE, visit::VISITS, metrics.clone());
        let cache = Cache::new(https(), settings.max_age, KEYS, metrics);
        Self { cache, visits, is_fetching: settings.fetch }
    }

    /// Finds the text for a key. `lacking` is one that was found before and does not have the key:
    /// a list may have grown meanwhile.
    pub async fn get(
        &self,
        pinned: &Pinned,
        wanted: &KeyWanted,
        lacking: Option<&Found>,
        now_us: Micros,
    ) -> Result<Found, Unfetched> {
        if let Some(text) = pinned_text(pinned, wanted) {
            let text = Bytes::copy_from_slice(text.expose().as_bytes());
            return match lacking {
                None => Ok(Found { text, at_us: now_us }),
                Some(_) => Err(Unfetched::Forged("the pinned list has no such key".into())),
            };
        }
        let place = place(wanted)?;
        if !self.is_fetching {
            let host = place.url.host_str().unwrap_or_default();
            let text = format!("a key at {host} is not pinned, and keys.fetch is off");
            return Err(Unfetched::Failed(text));
        }
        self.cache.get(&place, lacking, now_us).await
    }
}

fn pinned_text<'p>(pinned: &'p Pinned, wanted: &KeyWanted) -> Option<&'p Secret> {
    match wanted {
        KeyWanted::Document { url, .. } => pinned.get(url),
        KeyWanted::Listed { endpoint, id, .. } => {
            pinned.get(&format!("{endpoint}#{id}")).or_else(|| pinned.get(*endpoint))
        }
    }
}

/// Checks where a key is said to be. The provider has done so too; what is fetched from here is
/// too dangerous to rest on one check.
fn place(wanted: &KeyWanted) -> Result<Place, Unfetched> {
    let forged = || Unfetched::Forged("the sender has no keys where the request says".into());
    let url = bare_https(wanted.url()).ok_or_else(forged)?;
    if !wanted.allows(url.host_str().unwrap_or_default()) {
        return Err(forged());
    }
    Ok(match wanted {
        KeyWanted::Document { hosts, .. } => Place {
            post: None,
            name: url.to_string(),
            realm: hosts.first().copied().unwrap_or_default(),
            is_named: true,
            url,
        },
        KeyWanted::Listed { endpoint, id, post } => Place {
            name: match post {
                // Each id has an answer of its own.
                Some(_) => format!("{endpoint}#{id}"),
                None => (*endpoint).to_owned(),
            },
            post: post.clone(),
            realm: endpoint,
            is_named: false,
            url,
        },
    })
}

/// A URL that is https, names its host, and says neither port nor credentials.
fn bare_https(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let is_bare = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let is_named = matches!(url.host(), Some(Host::Domain(_)));
    (url.scheme() == "https" && is_bare && is_named).then_some(url)
}

/// Keys that were found for one request.
#[derive(Default)]
pub struct AtHand(Vec<(KeyWanted, Found)>);

impl AtHand {
    /// What was found for a key.
    pub fn found(&self, wanted: &KeyWanted) -> Option<&Found> {
        self.0.iter().find(|(key, _)| key == wanted).map(|(_, found)| found)
    }

    /// Adds what was found, in the place of what was found before.
    pub fn put(&mut self, wanted: KeyWanted, found: Found) {
        self.0.retain(|(key, _)| *key != wanted);
        self.0.push((wanted, found));
    }
}

impl Keys for AtHand {
    fn get(&self, wanted: &KeyWanted) -> Option<&[u8]> {
        self.found(wanted).map(|found| &*found.text)
    }
}

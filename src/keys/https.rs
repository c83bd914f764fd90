//! Fetches one text by https.
//!
//! It follows no redirect, uses no proxy, calls no private address, and reads no more than a key
//! can be long. What it is told to ask is checked before.

use super::cache::Fetch;
use super::{Place, Unfetched};
use crate::deliver::PublicOnly;
use bytes::{Bytes, BytesMut};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, StatusCode, redirect, retry};
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes of a text. A certificate has 2 KiB, a list of keys seldom more than 10.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A client that is made when it is first needed: a system without certificates needs none to
/// receive from senders that keep no keys elsewhere.
pub(super) struct Https {
    client: OnceLock<Result<Client, String>>,
    timeout: Duration,
    /// Only ever set by tests, whose servers have no certificates.
    pub(super) is_lenient: bool,
}

impl Https {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { client: OnceLock::new(), timeout, is_lenient: false }
    }

    fn client(&self) -> Result<&Client, Unfetched> {
        let made = self.client.get_or_init(|| {
            // An error means that one is installed already.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let client = Client::builder()
                .timeout(self.timeout)
                .redirect(redirect::Policy::none())
                .retry(retry::never())
                .no_proxy()
                .referer(false)
                .user_agent(concat!("posthouse/", env!("CARGO_PKG_VERSION")));
            let client = match self.is_lenient {
                true => client.tls_certs_only([]),
                false => client.https_only(true).dns_resolver(PublicOnly),
            };
            client.build().map_err(|error| root_cause(&error))
        });
        made.as_ref().map_err(|why| Unfetched::Failed(format!("no client: {why}")))
    }
}

impl Fetch for Https {
    async fn fetch(&self, place: &Place) -> Result<Bytes, Unfetched> {
        let client = self.client()?;
        let request = match &place.post {
            None => client.get(place.url.clone()),
            Some(body) => {
                let request = client.post(place.url.clone());
                request.header(CONTENT_TYPE, "application/json").body(body.expose().to_owned())
            }
        };
        let failed = |error: reqwest::Error| Unfetched::Failed(root_cause(&error));
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let forged = |what: &str| Err(Unfetched::Forged(format!("where it is said to be {what}")));
        match status {
            status if status.is_success() => match text(response).await.map_err(failed)? {
                Some(text) => Ok(text),
                None if place.is_named => forged("is something longer than 64 KiB"),
                None => Err(Unfetched::Failed("the list of keys is longer than 64 KiB".into())),
            },
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::GONE => {
                forged("is nothing")
            }
            status if status.is_redirection() && place.is_named => forged("is a redirect"),
            status => Err(Unfetched::Failed(format!("it answered {}", status.as_u16()))),
        }
    }
}

/// A body; `None` if it is too long.
async fn text(mut response: Response) -> reqwest::Result<Option<Bytes>> {
    let mut text = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if text.len() + chunk.len() > TEXT_BYTES_MAX {
            return Ok(None);
        }
        text.extend_from_slice(&chunk);
    }
    Ok(Some(text.freeze()))
}

/// What went wrong beneath; without the URL, in which credentials may be.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

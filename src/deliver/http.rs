//! The destination `http`: one POST for every attempt.
//!
//! It never follows a redirect, never sends a request again by itself, uses no proxy from the
//! environment, and never calls an address that the destination's policy forbids. It reads no
//! more of an answer than it keeps.

use super::EXCERPT_BYTES_MAX;
use super::address::{PublicOnly, forbidden_literal};
use super::answer::{Limits, answered, unanswered};
use super::headers;
use super::sign::Signer;
use crate::delivery::Micros;
use crate::job::{Class, Lease, Outcome};
use crate::source::{Accept, HttpDestination};
use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, HeaderMap};
use reqwest::{Client, ClientBuilder, Response, redirect, retry};
use std::time::{Duration, Instant};
use url::Url;

/// How long a connection waits for the next request. Many servers close theirs after 2 s; a
/// request that crosses such a close on the wire ends as unknown, although it was never read.
/// Under load a second is long enough to save nearly every handshake.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// How long to wait for the start of a body once the status is known: the status decides, the
/// body only explains.
const EXCERPT_WAIT_MAX: Duration = Duration::from_secs(2);

/// Bytes of an answer that are read where its body decides: an answer, not a document.
const ACCEPT_BYTES_MAX: usize = 64 * 1024;

/// Shorter header values are not looked for in answers: they would be found by chance.
const HIDDEN_BYTES_MIN: usize = 6;

/// An endpoint ready to be called.
pub(super) struct Http {
    url: Url,
    client: Client,
    extra: HeaderMap,
    signer: Option<Signer>,
    limits: Limits,
    allow_private: bool,
    accept: Option<Accept>,
}

impl Http {
    /// Checks the settings and makes a client of its own, with its own connections.
    pub(super) fn new(settings: &HttpDestination) -> Result<Self, String> {
        let url = settings.url.clone();
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("url: the scheme is {}, not http or https", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("url: has a user name; put Authorization under headers instead".into());
        }
        // Connecting ends before the whole attempt does, so that a timeout of the whole always
        // means that the request may have been sent.
        let total = settings.timeout;
        let limits = Limits { connect: settings.connect_timeout.min(total * 9 / 10), total };
        let client = client(&url, limits, settings.allow_private).build();
        Ok(Self {
            client: client.map_err(|error| format!("no client: {}", text_with_causes(&error)))?,
            extra: headers::configured(&settings.headers)?,
            signer: settings.sign_with.as_ref().map(Signer::new).transpose()?,
            url,
            limits,
            allow_private: settings.allow_private,
            accept: settings.accept.clone(),
        })
    }

    /// Sends one request and reads the answer.
    pub(super) async fn deliver(&self, lease: &Lease, body: &Bytes, now_us: Micros) -> Outcome {
        let headers = headers::assemble(lease, &self.extra, self.signer.as_ref(), now_us);
        self.send(headers, body, now_us).await
    }

    /// The header lines of the configuration.
    pub(super) fn extra(&self) -> &HeaderMap {
        &self.extra
    }

    /// Sends one request with these header lines and reads the answer.
    pub(super) async fn send(&self, headers: HeaderMap, body: &Bytes, now_us: Micros) -> Outcome {
        if !self.allow_private
            && let Some(forbidden) = forbidden_literal(&self.url)
        {
            return Outcome::new(Class::Refused, forbidden.to_string());
        }
        let started = Instant::now();
        let mut request = self.client.post(self.url.clone()).headers(headers);
        if body.is_empty() {
            // The client writes no length for an empty body, and some servers then answer 411.
            request = request.header(CONTENT_LENGTH, 0);
        }
        let request = request.body(body.clone());
        match request.send().await {
            Err(error) => unanswered(&error, self.limits),
            Ok(response) => {
                let took_us = Micros::try_from(started.elapsed().as_micros()).unwrap_or(0);
                let now_us = now_us.saturating_add(took_us);
                let outcome = answered(response.status(), response.headers(), &self.url, now_us);
                let body = self.start_of_body(response).await;
                let outcome = match &self.accept {
                    Some(accept) => judged(outcome, accept, &body),
                    None => outcome,
                };
                Outcome { excerpt: self.hiding(body), ..outcome }
            }
        }
    }

    /// The start of a body, a little longer than what is kept of it. Reading stops there, which
    /// closes the connection unless the body was complete; a body that breaks off does not
    /// change what the status said.
    async fn start_of_body(&self, mut response: Response) -> Vec<u8> {
        // A secret that begins within the excerpt is read to its end, or it would not be found.
        let longest = self.hidden().map(<[u8]>::len).max().unwrap_or(0);
        let kept = EXCERPT_BYTES_MAX + longest;
        let enough = if self.accept.is_some() { kept.max(ACCEPT_BYTES_MAX) } else { kept };
        let mut start = Vec::new();
        let read = async {
            while start.len() < enough
                && let Ok(Some(chunk)) = response.chunk().await
            {
                start.extend_from_slice(&chunk[..chunk.len().min(enough - start.len())]);
            }
        };
        let _ = tokio::time::timeout(EXCERPT_WAIT_MAX, read).await;
        start
    }

    /// A body without the secrets that were sent.
    fn hiding(&self, mut body: Vec<u8>) -> Vec<u8> {
        for secret in self.hidden() {
            blot_out(&mut body, secret);
        }
        body
    }

    fn hidden(&self) -> impl Iterator<Item = &[u8]> {
        self.extra.values().map(|value| value.as_bytes()).flat_map(hidden_in)
    }
}

/// A client for short questions, under the same rules as deliveries.
pub(super) fn get_client(url: &Url, allow_private: bool) -> Result<Client, String> {
    let limits = Limits { connect: Duration::from_secs(5), total: Duration::from_secs(10) };
    let built = client(url, limits, allow_private).build();
    built.map_err(|error| format!("no client: {}", text_with_causes(&error)))
}

fn client(url: &Url, limits: Limits, allow_private: bool) -> ClientBuilder {
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .connect_timeout(limits.connect)
        .timeout(limits.total)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        .referer(false)
        .pool_idle_timeout(IDLE_MAX);
    if url.scheme() == "http" {
        // No certificates are needed, so a system without any can still call this one.
        client = client.tls_certs_only([]);
    }
    if !allow_private {
        client = client.dns_resolver(PublicOnly);
    }
    client
}

/// The outcome of a 2xx whose body must say so too: some destinations answer 200 to everything.
fn judged(outcome: Outcome, accept: &Accept, body: &[u8]) -> Outcome {
    if outcome.class != Class::Accepted {
        return outcome;
    }
    let answer: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let found = match &answer {
        None => "its body is not JSON".to_owned(),
        Some(answer) => match answer.pointer(&accept.json) {
            Some(found) if *found == accept.equals => return outcome,
            Some(found) => format!("{} is {found}", accept.json),
            None => format!("it has no {}", accept.json),
        },
    };
    let detail = format!("{}, but {found}; expected {}", outcome.detail, accept.equals);
    Outcome { class: Class::Failed, detail, ..outcome }
}

/// The parts of a header value that are secret: the whole, and what follows `Bearer ` or the like.
fn hidden_in(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = value.rsplit(|byte| *byte == b' ').next();
    let parts = [Some(value), last].into_iter().flatten();
    parts.filter(|part| part.len() >= HIDDEN_BYTES_MIN)
}

/// Overwrites every occurrence of a secret that a destination sent back.
fn blot_out(text: &mut [u8], secret: &[u8]) {
    let mut at = 0;
    while at + secret.len() <= text.len() {
        if text[at..].starts_with(secret) {
            text[at..at + secret.len()].fill(b'*');
        }
        at += 1;
    }
}

/// An error of the client's builder; it knows no URL and no secret.
fn text_with_causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", text_with_causes(source)),
        None => error.to_string(),
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;

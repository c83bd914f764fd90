//! `receive`: from a request to an answer. Find the source, shake hands or admit, record, answer.
//!
//! Nothing of a request is interpreted or stored before its sender is proved, and no 2xx is
//! given before the commit.

mod admit;
mod answer;
mod arrival;
mod entry;
mod handshake;
mod read;
mod review;
mod visit;

pub use answer::Answer;
pub use entry::Entry;
pub use handshake::header_lines;
pub use review::{Outcome, Reviewed, Unopened};

use crate::clock::Clock;
use crate::keys::Remote;
use crate::quarantine::Quarantine;
use crate::refusals::Ledger as Refusals;
use crate::store::Store;
use crate::telemetry::Metrics;
use bytes::Bytes;
use futures_util::Stream;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Everything that receiving needs.
pub struct Intake {
    /// Sources by name, with the routes that start at them.
    pub sources: HashMap<String, Entry>,
    /// The ledger.
    pub store: Store,
    /// The ledger's time.
    pub clock: Clock,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Keys that senders keep elsewhere.
    pub keys: Remote,
    /// Refusals on their way into the ledger.
    pub refusals: Arc<Refusals>,
    /// Refused requests on their way into the quarantine.
    pub quarantine: Arc<Quarantine>,
    /// Bytes of bodies that may be held unanswered.
    pub memory: Semaphore,
    /// Time for a whole body to arrive.
    pub body_timeout: Duration,
}

/// A request without its body.
pub struct Head<'r> {
    /// The method, upper case.
    pub method: &'r str,
    /// Who is at the other end of the connection: the sender, or a proxy in front of us.
    pub peer: Option<IpAddr>,
    /// The path and the query as received.
    pub target: &'r str,
    /// All headers, names lower case.
    pub headers: Vec<(&'r str, &'r [u8])>,
}

impl<'r> Head<'r> {
    /// The first line of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&'r [u8]> {
        self.headers.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }
}

impl Intake {
    /// The source of a name, as far as the outside may know: a disabled one is as good as none.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.sources.get(name).filter(|entry| !entry.source.disabled)
    }

    /// Whether a request is to be received at all, whatever its method.
    pub fn is_delivery(&self, name: &str, head: &Head<'_>) -> bool {
        self.entry(name).is_some_and(|entry| {
            let url = entry.source.url(head.target);
            entry.source.provider.is_delivery(&head.request(&url, b""))
        })
    }

    /// Receives one request for a source.
    pub async fn receive<E>(
        &self,
        name: &str,
        head: Head<'_>,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Answer {
        let Some(entry) = self.entry(name) else {
            self.metrics.received.with_label_values(&["-"]).inc();
            return Answer::NoSource;
        };
        self.metrics.received.with_label_values(&[name]).inc();
        let reading = tokio::time::timeout(self.body_timeout, self.read(entry, &head, body));
        let (body, _held) = match reading.await {
            Ok(Ok(read)) => read,
            Ok(Err(answer)) => return self.refuse_unread(name, answer),
            Err(_) => return self.refuse_unread(name, Answer::Incomplete),
        };
        let begun_us = self.clock.now_us();
        let answer = match self.handshake(entry, &head, &body) {
            Some(answer) => answer,
            None => self.admit(entry, &head, &body).await,
        };
        let seconds = (self.clock.now_us() - begun_us) as f64 / 1e6;
        self.metrics.answer_seconds.observe(seconds);
        answer
    }

    fn refuse_unread(&self, name: &str, answer: Answer) -> Answer {
        let reason = match answer {
            Answer::TooLarge => "too_large",
            Answer::Incomplete => "incomplete",
            _ => "overload",
        };
        self.refuse(name, reason, "the body was not read to its end");
        answer
    }

    fn refuse(&self, source: &str, reason: &'static str, detail: &str) {
        self.metrics.rejected.with_label_values(&[source, reason]).inc();
        self.refusals.add(source, reason, detail);
    }
}

//! `receive`: from a request to an answer. Find the source, admit, record, answer.
//!
//! Nothing of a request is interpreted or stored before its sender is proved, and no 2xx is
//! given before the commit.

mod answer;
mod arrival;
mod read;

pub use answer::Answer;

use crate::clock::{Clock, wall_us};
use crate::delivery::Verdict;
use crate::refusals::Ledger as Refusals;
use crate::source::{Route, Source};
use crate::store::Store;
use crate::telemetry::Metrics;
use arrival::{Proof, arrival, kept};
use bytes::Bytes;
use futures_util::Stream;
use providers::{Admitted, Event, Reading, Request, Window, admit_unsigned_with, admit_with_keys};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
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
    /// Refusals on their way into the ledger.
    pub refusals: Arc<Refusals>,
    /// Bytes of bodies that may be held unanswered.
    pub memory: Semaphore,
    /// Time for a whole body to arrive.
    pub body_timeout: Duration,
}

/// A source and where its deliveries go.
pub struct Entry {
    /// The source.
    pub source: Arc<Source>,
    /// Its routes.
    pub routes: Vec<Arc<Route>>,
    /// The second that is being counted and the deliveries in it.
    pub rate: AtomicI64,
}

/// A request without its body.
pub struct Head<'r> {
    /// The method, upper case.
    pub method: &'r str,
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
        let answer = self.admit(entry, &head, &body).await;
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

    async fn admit(&self, entry: &Entry, head: &Head<'_>, body: &Bytes) -> Answer {
        let source = &entry.source;
        let url = source.public_url.as_deref().unwrap_or("");
        let query = head.target.split_once('?').map_or("", |(_, query)| query);
        let url = if query.is_empty() { url.to_owned() } else { format!("{url}?{query}") };
        let (method, headers) = (head.method, head.headers.as_slice());
        let request = Request { method, url: &url, headers, body };
        let window = Window { now_s: wall_us() / 1_000_000, tolerance_s: source.tolerance_s };
        let admitted = if source.unsigned {
            admit_unsigned_with(source.provider, &request, source.split)
        } else {
            let reading = Reading { split: source.split, ..Reading::default() };
            admit_with_keys(source.provider, &request, &source.secrets, window, reading)
        };
        match admitted {
            Ok(Admitted::Challenge(reply)) => Answer::Reply(reply),
            Ok(Admitted::Events { .. }) if self.store.is_source_paused(&source.name) => {
                self.refuse(&source.name, "paused", "an operator paused the source");
                Answer::TooMany
            }
            Ok(Admitted::Events { events, .. })
                if entry.is_over_rate(window.now_s, events.len()) =>
            {
                self.refuse(&source.name, "rate", "more deliveries than the source's rate allows");
                Answer::TooMany
            }
            Ok(Admitted::Events { events, coverage, secret }) => {
                let secret = (!source.unsigned).then_some(secret);
                self.record(entry, head, body, Proof { coverage, secret }, events).await
            }
            Err(rejection) => {
                self.refuse(&source.name, rejection.label(), &rejection.to_string());
                match rejection {
                    providers::Rejection::Unreadable(_) => Answer::Unreadable,
                    _ => Answer::NotProved(source.provider.refusal_status()),
                }
            }
        }
    }

    async fn record(
        &self,
        entry: &Entry,
        head: &Head<'_>,
        body: &Bytes,
        proof: Proof,
        events: Vec<Event>,
    ) -> Answer {
        let headers = kept(head, entry.source.provider.forwarded());
        let received_us = self.clock.now_us();
        let arrivals = events
            .into_iter()
            .map(|event| arrival(entry, head, event, body, &headers, proof, received_us));
        // All or none: a sender knows no way to send half of a request again.
        let recorded = match self.store.record_all(arrivals.collect()).await {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::error!(source = %entry.source.name, %error, "nothing was recorded");
                self.refuse(&entry.source.name, "store", "the store did not take the delivery");
                return Answer::Unavailable;
            }
        };
        for one in &recorded {
            let name = [&*entry.source.name];
            match one.verdict {
                Verdict::Accepted => self.metrics.accepted.with_label_values(&name).inc(),
                Verdict::Duplicate => self.metrics.duplicate.with_label_values(&name).inc(),
                Verdict::Revived => self.metrics.revived.with_label_values(&name).inc(),
                Verdict::Conflict => {
                    self.metrics.conflict.with_label_values(&name).inc();
                    tracing::warn!(source = %entry.source.name, delivery = %one.id,
                        "conflict: other content under the same key; the first one stands");
                }
            }
        }
        match entry.source.provider.accepted() {
            Some(reply) if recorded.iter().all(|one| one.verdict != Verdict::Conflict) => {
                Answer::Reply(reply)
            }
            _ => Answer::Recorded(recorded),
        }
    }

    fn refuse(&self, source: &str, reason: &'static str, detail: &str) {
        self.metrics.rejected.with_label_values(&[source, reason]).inc();
        self.refusals.add(source, reason, detail);
    }
}

impl Entry {
    /// Counts deliveries against the source's rate. The second and its count share one number.
    ///
    /// A request is taken whole while the second is not used up: one with more events than the rate
    /// allows in a second could otherwise never be taken.
    fn is_over_rate(&self, now_s: i64, events: usize) -> bool {
        let Some(rate) = self.source.rate_per_s else { return false };
        let events = i64::try_from(events).unwrap_or(i64::MAX >> 1);
        let before = |packed: i64| if packed >> 24 == now_s { packed & 0xff_ffff } else { 0 };
        let pack = |packed| Some((now_s << 24) | (before(packed) + events).min(0xff_ffff));
        let counted = self.rate.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pack);
        counted.is_ok_and(|packed| before(packed) >= i64::from(rate))
    }
}

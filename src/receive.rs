//! `receive`: from a request to an answer. Find the source, admit, record, answer.
//!
//! Nothing of a request is interpreted or stored before its sender is proved, and no 2xx is
//! given before the commit.

use crate::clock::{Clock, wall_us};
use crate::delivery::{Arrival, KeptHeaders, Recorded, Verdict};
use crate::refusals::Ledger as Refusals;
use crate::source::{Route, Source};
use crate::store::{Store, StoreError};
use crate::telemetry::Metrics;
use actix_web::http::StatusCode;
use actix_web::web::{Bytes, BytesMut};
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt};
use providers::{Admitted, Coverage, Event, Reply, Request, Window, admit, admit_unsigned};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

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

/// The answer to a request, on its way to the one map from answers to statuses.
#[derive(Debug)]
pub enum Answer {
    /// Recorded, or seen before.
    Recorded(Vec<Recorded>),
    /// What the provider wants to hear.
    Reply(Reply),
    /// There is no such source.
    NoSource,
    /// Not proved; the provider may want a status of its own.
    NotProved(u16),
    /// Proved, but not readable.
    Unreadable,
    /// The body is larger than the source allows.
    TooLarge,
    /// The body did not arrive in time, or broke off.
    Incomplete,
    /// Over the source's rate.
    TooMany,
    /// Our own fault: the sender may try again.
    Unavailable,
}

/// Headers kept with every delivery, besides the provider's own.
const KEPT: [&str; 3] = ["content-type", "content-encoding", "user-agent"];

/// More header bytes than this are not kept: the provider's own are far smaller.
const KEPT_BYTES: usize = 16 * 1024;

impl Intake {
    /// Receives one request for a source.
    pub async fn receive<E>(
        &self,
        name: &str,
        head: Head<'_>,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Answer {
        let entry = self.sources.get(name).filter(|entry| !entry.source.disabled);
        let Some(entry) = entry else {
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

    /// Reads the whole body, byte for byte, within the source's limit and the memory there is.
    async fn read<E>(
        &self,
        entry: &Entry,
        head: &Head<'_>,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Answer> {
        let limit = entry.source.body_bytes_max;
        let declared = head.headers.iter().find(|(name, _)| *name == "content-length");
        let declared =
            declared.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok());
        if declared.is_some_and(|bytes: usize| bytes > limit) {
            return Err(Answer::TooLarge);
        }
        let mut held: Option<SemaphorePermit<'_>> = None;
        let mut hold = |bytes: usize| {
            let bytes = u32::try_from(bytes).map_err(|_| Answer::TooLarge)?;
            let permit = self.memory.try_acquire_many(bytes).map_err(|_| Answer::Unavailable)?;
            match &mut held {
                Some(held) => held.merge(permit),
                None => held = Some(permit),
            }
            Ok(())
        };
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        let mut bytes = 0;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|_| Answer::Incomplete)?;
            bytes += chunk.len();
            if bytes > limit {
                return Err(Answer::TooLarge);
            }
            hold(chunk.len())?;
            if first.is_empty() {
                // Most bodies come in one piece, and are then not copied.
                first = chunk;
            } else {
                if whole.is_empty() {
                    whole.reserve(declared.unwrap_or(first.len() * 2).min(limit));
                    whole.extend_from_slice(&first);
                }
                whole.extend_from_slice(&chunk);
            }
        }
        Ok((if whole.is_empty() { first } else { whole.freeze() }, held))
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
            admit_unsigned(source.provider, &request)
        } else {
            admit(source.provider, &request, &source.secrets, window)
        };
        match admitted {
            Ok(Admitted::Challenge(reply)) => Answer::Reply(reply),
            Ok(Admitted::Events { .. }) if entry.is_over_rate(window.now_s) => {
                self.refuse(&source.name, "rate", "more deliveries than the source's rate allows");
                Answer::TooMany
            }
            Ok(Admitted::Events { events, coverage, .. }) => {
                self.record(entry, head, body, coverage, events).await
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
        coverage: Coverage,
        events: Vec<Event>,
    ) -> Answer {
        let headers = kept(head, entry.source.provider.forwarded());
        let received_us = self.clock.now_us();
        let recording = events.into_iter().map(|event| {
            let arrival = arrival(entry, event, body, &headers, coverage, received_us);
            self.store.record(arrival)
        });
        let results: Result<Vec<Recorded>, StoreError> =
            join_all(recording).await.into_iter().collect();
        let recorded = match results {
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
    /// Counts a delivery against the source's rate. The second and its count share one number.
    fn is_over_rate(&self, now_s: i64) -> bool {
        let Some(rate) = self.source.rate_per_s else { return false };
        let count = |packed: i64| if packed >> 24 == now_s { (packed & 0xff_ffff) + 1 } else { 1 };
        let pack = |packed| Some((now_s << 24) | count(packed).min(0xff_ffff));
        let before = self.rate.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pack);
        before.is_ok_and(|before| count(before) > i64::from(rate))
    }
}

fn arrival(
    entry: &Entry,
    event: Event,
    body: &Bytes,
    headers: &[u8],
    coverage: Coverage,
    received_us: i64,
) -> Arrival {
    let jobs = entry.routes.iter().filter(|route| route.matches(&event.kind));
    let jobs = jobs.map(|route| route.plan(&event)).collect();
    let body = match event.part.clone() {
        Some(part) => body.slice(part),
        None => body.clone(),
    };
    Arrival {
        source: entry.source.name.clone(),
        fingerprint: Sha256::digest(&body).into(),
        key: event.key,
        kind: event.kind,
        entity: event.entity,
        position: event.position,
        volatile: event.volatile.iter().map(|pointer| pointer.to_string()).collect(),
        coverage,
        received_us,
        headers: headers.to_vec(),
        body,
        jobs,
    }
}

/// The headers that are stored: what describes the body, and the provider's own. Never one that
/// carries a signature, a cookie or an authorization.
fn kept(head: &Head<'_>, forwarded: &[&str]) -> Vec<u8> {
    let mut bytes = 0;
    let lines = head.headers.iter().filter(|(name, value)| {
        let wanted = KEPT.contains(name) || forwarded.contains(name);
        bytes += if wanted { name.len() + value.len() + 3 } else { 0 };
        wanted && bytes <= KEPT_BYTES
    });
    KeptHeaders(lines.map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect())
        .to_bytes()
}

impl Answer {
    /// The one map from answers to HTTP statuses.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Recorded(recorded) => {
                match recorded.iter().any(|one| one.verdict == Verdict::Conflict) {
                    true => StatusCode::CONFLICT,
                    false => StatusCode::OK,
                }
            }
            Self::Reply(reply) => StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK),
            Self::NoSource => StatusCode::NOT_FOUND,
            Self::NotProved(status) => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::UNAUTHORIZED)
            }
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete => StatusCode::REQUEST_TIMEOUT,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Seconds after which the sender may try again, where that helps.
    pub fn retry_after_s(&self) -> Option<u32> {
        match self {
            Self::TooMany => Some(1),
            Self::Unavailable => Some(5),
            _ => None,
        }
    }
}

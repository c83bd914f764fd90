//! Keeps refused requests, a bounded number of each source's, and looks for the likely cause.
//!
//! It works beside the answers: a request is answered before anything of it is looked into, so that
//! neither the time of an answer nor a flood of forgeries depends on what is found. Senders are
//! never told. Nothing that could be a secret is kept in the clear, logged or shown.

mod request;
mod seal;

pub use request::{KeptRequest, RefusedRequest};

use crate::clock::wall_us;
use crate::config::{self, kept_secret};
use crate::delivery::Micros;
use crate::diagnose::Diagnosis;
use crate::source::Source;
use crate::store::{Refused, Store};
use crate::telemetry::Metrics;
use bytes::Bytes;
use seal::Seal;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Between two writes. At most one cause a source is looked for each time.
const EVERY: Duration = Duration::from_secs(1);

/// Writes until what is too old is looked for.
const PRUNE_EVERY: u32 = 60;

/// Refused requests on their way into the store.
pub struct Quarantine {
    bounds: config::Quarantine,
    seal: Seal,
    sources: Vec<Arc<Source>>,
    gathered: Mutex<HashMap<Arc<str>, Gathered>>,
    metrics: Arc<Metrics>,
}

/// What came of one source since the last write.
struct Gathered {
    cases: Vec<RefusedRequest>,
    bytes: usize,
    /// How many more are taken: all that are kept at first, and one a second once that is used up.
    /// A flood then costs a row a second, and a burst of genuine requests is kept whole.
    room: usize,
}

impl Quarantine {
    /// An empty one. Without a configured key there is a generated one in the data directory.
    pub fn new(config: &config::Config, metrics: Arc<Metrics>) -> Self {
        let bounds = config.quarantine.clone();
        let key = match bounds.key() {
            Some(key) => key.expose().to_owned(),
            None => own_key(&config.store.data_dir.join("quarantine-key"), bounds.count > 0),
        };
        let (seal, gathered) = (Seal::new(&key), Mutex::default());
        let sources = config.sources.values().cloned().collect();
        Self { bounds, seal, sources, gathered, metrics }
    }

    /// Takes a refused request of a source, if there is room; only then it is made.
    pub fn put(&self, source: &Source, body: &Bytes, make: impl FnOnce(Bytes) -> RefusedRequest) {
        let is_short = body.len() <= self.bounds.body_max.0;
        let body = if is_short { body.clone() } else { Bytes::new() };
        let bytes = body.len();
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Gathered { cases: Vec::new(), bytes: 0, room: self.bounds.count };
        let of_source = gathered.entry(source.name.clone()).or_insert(full);
        if of_source.room == 0 || of_source.bytes + bytes > self.bounds.bytes.0 {
            self.metrics.not_quarantined.with_label_values(&[&*source.name]).inc();
            return;
        }
        of_source.room -= 1;
        of_source.bytes += bytes;
        of_source.cases.push(make(body));
    }

    /// Writes down what was gathered, for ever, and forgets what is too old.
    pub async fn run(&self, store: &Store) {
        for round in (0..PRUNE_EVERY).cycle() {
            if round == 0 {
                self.prune(store).await;
            }
            tokio::time::sleep(EVERY).await;
            self.once(store).await;
        }
    }

    /// Writes down what was gathered, and logs the likely cause of the last of each source.
    pub async fn once(&self, store: &Store) {
        let cases = self.take();
        if cases.is_empty() {
            return;
        }
        let sources = self.sources.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let look = |cases: Vec<RefusedRequest>| {
                let cause = cases.last().map(|last| last.diagnose(&sources));
                (cases, cause)
            };
            cases.into_iter().map(look).collect::<Vec<_>>()
        });
        let Ok(looked) = looking.await else { return };
        let mut rows = Vec::new();
        for (cases, cause) in looked {
            let last = cases.len() - 1;
            for (at, case) in cases.into_iter().enumerate() {
                let cause = cause.as_ref().filter(|_| at == last);
                if let Some(Diagnosis { cause, text }) = cause {
                    let (source, cause) = (&*case.source.name, cause.word());
                    self.metrics.causes.with_label_values(&[source, cause]).inc();
                    tracing::warn!(
                        source,
                        reason = case.reason,
                        cause,
                        likely = text,
                        "looked into a refused request"
                    );
                }
                rows.push(self.row(case, cause));
            }
        }
        let (count, bytes) = (self.bounds.count, self.bounds.bytes.0);
        if let Err(error) = store.quarantine(&rows, count, bytes).await {
            tracing::warn!(%error, "refused requests could not be kept");
        }
    }

    /// The head of a kept request again; `None` if it was sealed with another key.
    pub fn open(&self, source: &str, received_us: Micros, sealed: &[u8]) -> Option<KeptRequest> {
        self.seal.open(source, received_us, sealed)
    }

    /// Looks for the likely cause of a kept request, as things stand now.
    pub fn look_into(&self, refused: &RefusedRequest) -> Diagnosis {
        refused.diagnose(&self.sources)
    }

    async fn prune(&self, store: &Store) {
        let age_us = Micros::try_from(self.bounds.age.as_micros()).unwrap_or(Micros::MAX / 2);
        if let Err(error) = store.release_before(wall_us() - age_us).await {
            tracing::warn!(%error, "could not forget old refused requests; trying again");
        }
    }

    /// What was gathered, by source.
    fn take(&self) -> Vec<Vec<RefusedRequest>> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        gathered.retain(|_, of_source| {
            of_source.bytes = 0;
            if !of_source.cases.is_empty() {
                all.push(std::mem::take(&mut of_source.cases));
            }
            of_source.room += 1;
            of_source.room < self.bounds.count
        });
        all
    }

    fn row(&self, case: RefusedRequest, cause: Option<&Diagnosis>) -> Refused {
        let source = &*case.source.name;
        let sealed = match case.head.is_short() {
            true => self.seal.close(source, case.received_us, &case.head),
            false => Vec::new(),
        };
        let is_whole = case.is_whole();
        Refused {
            headers: case.shown(),
            sealed,
            source: source.to_owned(),
            received_us: case.received_us,
            reason: case.reason,
            detail: case.detail,
            cause: cause.map(|found| (found.cause.word().to_owned(), found.text.clone())),
            body_bytes: case.body_bytes,
            body: is_whole.then_some(case.body),
        }
    }
}

/// The generated key. Where none can be kept, one for as long as this process lives: requests are
/// refused and explained all the same.
fn own_key(path: &Path, is_needed: bool) -> String {
    if is_needed {
        match kept_secret(path) {
            Ok((key, _)) => return key.expose().to_owned(),
            Err(error) => tracing::warn!(file = %path.display(), %error,
                "the key of the quarantine cannot be kept: what is refused now cannot be promoted \
                 after a restart; set quarantine.key"),
        }
    }
    hex::encode(rand::random::<[u8; 32]>())
}

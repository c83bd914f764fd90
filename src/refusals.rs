//! Gathers refusals and writes them down once a second: a flood of them costs neither a row nor
//! a log line each.

use crate::store::{Refusals, Store};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Between two writes.
const EVERY: Duration = Duration::from_secs(1);

/// Refusals since the last write, by source and reason.
#[derive(Default)]
pub struct Ledger(Mutex<HashMap<(String, &'static str), Gathered>>);

/// How many, and what the last one was refused for.
#[derive(Default)]
struct Gathered {
    count: i64,
    detail: String,
}

impl Ledger {
    /// Counts a refusal.
    pub fn add(&self, source: &str, reason: &'static str, detail: &str) {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = gathered.entry((source.to_owned(), reason)).or_default();
        entry.count += 1;
        if entry.detail != detail {
            detail.clone_into(&mut entry.detail);
        }
    }

    /// Writes down what was gathered, for ever.
    pub async fn run(&self, store: &Store) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.once(store).await;
        }
    }

    /// Writes down what was gathered, and logs it: one line for each source and reason.
    pub async fn once(&self, store: &Store) {
        let gathered = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if gathered.is_empty() {
            return;
        }
        let mut refusals = Vec::with_capacity(gathered.len());
        for ((source, reason), Gathered { count, detail }) in gathered {
            tracing::warn!(%source, reason, count, detail, "requests refused");
            refusals.push(Refusals { source, reason: reason.to_owned(), count, detail });
        }
        if let Err(error) = store.refuse(refusals).await {
            tracing::warn!(%error, "could not write the refusals down; their counts are lost");
        }
    }
}

//! What is known of keys, what is known not to be there, and how often anything may be asked.
//!
//! One fetch at a time for each key; whoever comes meanwhile waits for it. All of it is bounded.

use super::{Found, Place, Unfetched};
use crate::delivery::Micros;
use crate::telemetry::Metrics;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const SECOND_US: Micros = 1_000_000;

/// Keys that are remembered. Senders have a handful each; the rest is room for forged ones.
pub(super) const SLOTS_MAX: usize = 1024;

/// Fetches a minute from one realm. A sender changes its keys a few times a year.
pub(super) const FETCHES_A_MINUTE: u32 = 30;

/// How long it is remembered that a key is not there.
pub(super) const MISSING_US: Micros = 600 * SECOND_US;

/// How long a place that could not be asked is left alone: senders try again after seconds.
pub(super) const FAILED_US: Micros = 10 * SECOND_US;

/// A list that lacks a key is not fetched again before: a new key may be signed with at once.
pub(super) const AGAIN_US: Micros = 60 * SECOND_US;

/// Fetches a text.
pub(super) trait Fetch: Send + Sync {
    fn fetch(&self, place: &Place) -> impl Future<Output = Result<Bytes, Unfetched>> + Send;
}

/// What is fetched, in the words of metrics and the log.
pub(super) struct Kind {
    pub(super) count: fn(&Metrics, &Result<Bytes, Unfetched>),
    pub(super) failure: &'static str,
}

/// Texts with keys in them.
pub(super) const KEYS: Kind = Kind {
    count: |metrics, fetched| {
        let outcome = match fetched {
            Ok(_) => "found",
            Err(Unfetched::Forged(_)) => "missing",
            Err(Unfetched::Failed(_)) => "failed",
        };
        metrics.key_fetches.with_label_values(&[outcome]).inc();
    },
    failure: "a sender's key could not be fetched",
};

/// What is known of keys.
pub(super) struct Cache<F> {
    pub(super) fetch: F,
    kind: Kind,
    max_age_us: Micros,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    /// The minute that is being counted and the fetches in it.
    spent: Mutex<HashMap<&'static str, (i64, u32)>>,
    pub(super) metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Slot {
    state: tokio::sync::Mutex<State>,
    used_us: AtomicI64,
    /// It has a text: a flood of forged keys does not push it out.
    is_good: AtomicBool,
}

#[derive(Default)]
struct State {
    found: Option<Found>,
    missing_us: Option<Micros>,
    failed: Option<(Micros, String)>,
}

impl<F: Fetch> Cache<F> {
    pub(super) fn new(fetch: F, max_age: Duration, kind: Kind, metrics: Arc<Metrics>) -> Self {
        let max_age_us = Micros::try_from(max_age.as_micros()).unwrap_or(Micros::MAX);
        let (slots, spent) = (Mutex::default(), Mutex::default());
        Self { fetch, kind, max_age_us, slots, spent, metrics }
    }

    pub(super) async fn get(
        &self,
        place: &Place,
        lacking: Option<&Found>,
        now_us: Micros,
    ) -> Result<Found, Unfetched> {
        let slot = self.slot(&place.name, now_us)?;
        let mut state = slot.state.lock().await;
        if let Some(known) = state.known(lacking, now_us, self.max_age_us) {
            return known;
        }
        self.spend(place.realm, now_us)?;
        let fetched = self.fetch.fetch(place).await;
        (self.kind.count)(&self.metrics, &fetched);
        match fetched {
            Ok(text) => {
                let found = Found { text, at_us: now_us };
                *state = State { found: Some(found.clone()), ..State::default() };
                slot.is_good.store(true, Ordering::Relaxed);
                // Told apart from what was lacking even if no microsecond has passed.
                match lacking {
                    Some(lacking) if lacking.text == found.text => Err(missing()),
                    _ => Ok(found),
                }
            }
            Err(Unfetched::Forged(why)) => {
                state.missing_us = Some(now_us);
                Err(Unfetched::Forged(why))
            }
            Err(Unfetched::Failed(why)) => {
                let host = place.url.host_str().unwrap_or_default();
                tracing::warn!(host, why, "{}", self.kind.failure);
                state.failed = Some((now_us, why.clone()));
                Err(Unfetched::Failed(why))
            }
        }
    }

    /// The place of a key in memory. Where there is none left, the one that was not used for the
    /// longest time gives way, those without a text first.
    fn slot(&self, name: &str, now_us: Micros) -> Result<Arc<Slot>, Unfetched> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(name) && slots.len() >= SLOTS_MAX {
            let idle = slots.iter().filter(|(_, slot)| Arc::strong_count(slot) == 1);
            let order = |slot: &Slot| {
                (slot.is_good.load(Ordering::Relaxed), slot.used_us.load(Ordering::Relaxed))
            };
            let oldest = idle.min_by_key(|(_, slot)| order(slot)).map(|(name, _)| name.clone());
            let busy = || Unfetched::Failed("too many keys are being fetched".into());
            slots.remove(&oldest.ok_or_else(busy)?);
        }
        let slot = slots.entry(name.to_owned()).or_default();
        slot.used_us.store(now_us, Ordering::Relaxed);
        Ok(slot.clone())
    }

    /// Uses up one of a realm's fetches of this minute.
    fn spend(&self, realm: &'static str, now_us: Micros) -> Result<(), Unfetched> {
        let minute = now_us / (60 * SECOND_US);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (counted, fetches) = spent.entry(realm).or_default();
        if *counted != minute {
            (*counted, *fetches) = (minute, 0);
        }
        if *fetches >= FETCHES_A_MINUTE {
            return Err(Unfetched::Failed(format!("too many keys are asked for at {realm}")));
        }
        *fetches += 1;
        Ok(())
    }
}

impl State {
    /// What need not be asked.
    fn known(
        &self,
        lacking: Option<&Found>,
        now_us: Micros,
        max_age_us: Micros,
    ) -> Option<Result<Found, Unfetched>> {
        if let Some(found) = &self.found {
            let age_us = now_us.saturating_sub(found.at_us);
            match lacking == Some(found) {
                true if age_us < AGAIN_US => return Some(Err(missing())),
                false if age_us < max_age_us => return Some(Ok(found.clone())),
                _ => {}
            }
        }
        if self.missing_us.is_some_and(|at_us| now_us.saturating_sub(at_us) < MISSING_US) {
            return Some(Err(missing()));
        }
        let failed = self.failed.as_ref();
        let failed = failed.filter(|(at_us, _)| now_us.saturating_sub(*at_us) < FAILED_US);
        failed.map(|(_, why)| Err(Unfetched::Failed(why.clone())))
    }
}

fn missing() -> Unfetched {
    Unfetched::Forged("the sender has no such key".into())
}

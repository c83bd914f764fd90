//! How long a source usually is silent, learned from its own deliveries.
//!
//! The time before its last delivery is looked at, not before now: what was learned does not
//! change while the source is silent. Learned anew every few minutes, never written down.

use crate::delivery::Micros;
use crate::store::{Store, StoreError};
use std::collections::HashMap;
use std::sync::Arc;

const MINUTE_US: Micros = 60_000_000;
const DAY_US: Micros = 86_400_000_000;

/// What is learned from: two weeks, which have two weekends in them.
const WINDOW_US: Micros = 14 * DAY_US;

/// Nothing is learned from less than a week: it may have no weekend in it.
const SPAN_MIN_US: Micros = 7 * DAY_US;

/// With fewer deliveries the longest gap says little about the next one.
const DELIVERIES_MIN: i64 = 50;

/// Shorter gaps all count as this: nobody wants to hear of a pause of ten minutes.
const GAP_MIN_US: Micros = 5 * MINUTE_US;

/// Gaps come at random: twice the longest one of 50 is nothing rare, three times is.
const FACTOR: i64 = 3;

/// How long what was learned is good: it is about weeks.
const LEARNED_US: Micros = 10 * MINUTE_US;

/// What is usual for sources.
pub(super) struct Usual {
    store: Store,
    learned: HashMap<Arc<str>, (Micros, Micros)>,
}

impl Usual {
    pub(super) fn new(store: Store) -> Self {
        Self { store, learned: HashMap::new() }
    }

    /// How long a source may be silent; `None` while too little is known of it.
    pub(super) async fn silence(
        &mut self,
        source: &Arc<str>,
        last_us: Micros,
        now_us: Micros,
    ) -> Result<Option<Micros>, StoreError> {
        if let Some((learned_us, silence_us)) = self.learned.get(source)
            && now_us - learned_us < LEARNED_US
        {
            return Ok(Some(*silence_us));
        }
        let silence_us = self.learn(source, last_us).await?;
        if let Some(silence_us) = silence_us {
            self.learned.insert(source.clone(), (now_us, silence_us));
        }
        Ok(silence_us)
    }

    async fn learn(&self, source: &str, last_us: Micros) -> Result<Option<Micros>, StoreError> {
        let since_us = last_us - WINDOW_US;
        if !self.store.has_sent(source, since_us, DELIVERIES_MIN).await? {
            return Ok(None);
        }
        let found = self.store.longest_gap(source, since_us, GAP_MIN_US).await?;
        let known = found.filter(|(first_us, _)| *first_us <= last_us - SPAN_MIN_US);
        Ok(known.map(|(_, gap_us)| gap_us * FACTOR))
    }
}

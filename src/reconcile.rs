//! `reconcile`: asks destinations about attempts of unknown outcome, until one of them says.
//!
//! It never repeats an attempt by itself: what did not happen goes back into its lane like any
//! other job, under the same idempotency key.

use crate::clock::Clock;
use crate::decide::probe_wait;
use crate::deliver::{Destinations, Told};
use crate::source::{OnDead, Route};
use crate::store::{Called, Doubt, Resolution, Store, StoreError};
use crate::telemetry::Metrics;
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Doubts asked about at once. More would be a flood for a destination that just came back.
const ROUND: i64 = 16;

/// Nobody else asks while one process does: longer than any question takes.
const ASKING: Duration = Duration::from_secs(60);

/// How often to look for doubts whose time has come.
const EVERY: Duration = Duration::from_secs(1);

/// Everything that reconciling needs.
pub struct Reconciler {
    /// The ledger.
    pub store: Store,
    /// The ledger's time.
    pub clock: Clock,
    /// Who is asked.
    pub destinations: Arc<Destinations>,
    /// Routes by name.
    pub routes: HashMap<Arc<str>, Arc<Route>>,
    /// Counts.
    pub metrics: Arc<Metrics>,
}

impl Reconciler {
    /// Reconciles for ever.
    pub async fn run(self) {
        loop {
            match self.once().await {
                // There may be more.
                Ok(asked) if asked as i64 == ROUND => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "could not look for doubts; trying again"),
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Asks about every doubt whose time has come. Returns how many there were.
    pub async fn once(&self) -> Result<usize, StoreError> {
        let again_us = self.clock.now_us() + micros(ASKING);
        let doubts = self.store.doubts(again_us, ROUND).await?;
        for result in join_all(doubts.iter().map(|doubt| self.ask(doubt))).await {
            result?;
        }
        Ok(doubts.len())
    }

    async fn ask(&self, doubt: &Doubt) -> Result<(), StoreError> {
        // Another machine may know the route, and asks.
        let Some(route) = self.routes.get(&doubt.route) else { return Ok(()) };
        let told = self.destinations.ask(&route.destination, &doubt.lease()).await;
        let (word, resolution) = match &told {
            Told::Happened => ("happened", Some(Resolution::Succeeded)),
            Told::DidNot => ("did_not", Some(Resolution::Retry)),
            Told::Nothing(_) => ("nothing", None),
        };
        self.metrics.reconciled.with_label_values(&[&*doubt.route, word]).inc();
        let Some(resolution) = resolution else {
            let now_us = self.clock.now_us();
            let age = Duration::from_micros(u64::try_from(now_us - doubt.settled_us).unwrap_or(0));
            let next_us = now_us + micros(probe_wait(age));
            tracing::info!(job = %doubt.job, route = %doubt.route, answer = ?told,
                next = crate::clock::rfc3339(next_us), "still uncertain");
            return self.store.ask_again(doubt.job, next_us).await;
        };
        let halt_lane = route.on_dead == OnDead::Halt;
        let called = self.store.resolve(doubt.job, resolution, halt_lane, "probe").await?;
        if called == Called::Done {
            tracing::info!(job = %doubt.job, route = %doubt.route, answer = word,
                "the destination resolved a doubt");
        }
        Ok(())
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 2)
}

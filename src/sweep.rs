//! `sweep`: takes jobs from workers that are gone, and heads lanes that have none.
//!
//! Elapsed time does not prove a worker dead. A sweep settles in its place under its token, so
//! the two cannot both win, and whoever comes second is refused.

use crate::clock::Clock;
use crate::decide::decide;
use crate::job::{Attempt, Class, Effect, Outcome};
use crate::keep::Keeper;
use crate::process::report;
use crate::source::Route;
use crate::store::{Settled, Settlement, Store, StoreError};
use crate::telemetry::Metrics;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Jobs taken over in one round.
const ROUND: i64 = 256;

/// Rounds between two looks for lanes without a head. Every move of a job heads its lane in the
/// same transaction; the look is for what nobody thought of.
const ORPHANS_EVERY: u32 = 60;

/// Everything that a sweep needs.
pub struct Sweeper {
    /// The ledger.
    pub store: Store,
    /// The ledger's time.
    pub clock: Clock,
    /// Routes by name.
    pub routes: HashMap<Arc<str>, Arc<Route>>,
    /// This process.
    pub worker: Arc<str>,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// The leases of this process: they are alive even when they could not be prolonged.
    pub keeper: Arc<Keeper>,
}

impl Sweeper {
    /// Sweeps for ever.
    pub async fn run(self, every: Duration) {
        for round in 0_u32.. {
            if let Err(error) = self.once().await {
                tracing::warn!(%error, "a sweep failed; the next one tries again");
            }
            if round % ORPHANS_EVERY == 0 {
                match self.store.head_orphans().await {
                    Ok(0) => {}
                    Ok(lanes) => tracing::error!(lanes, "lanes had no head; they have one now"),
                    Err(error) => tracing::warn!(%error, "could not look for lanes without head"),
                }
            }
            tokio::time::sleep(every).await;
        }
    }

    /// Settles every job whose lease has ended. Returns how many were taken over.
    pub async fn once(&self) -> Result<usize, StoreError> {
        let now_us = self.clock.now_us();
        let expired = self.store.expired(ROUND).await?;
        let mut taken = 0;
        for found in expired {
            let lease = found.lease;
            if self.keeper.holds(&lease) {
                continue;
            }
            let text = format!("the lease ended; worker {} is presumed dead", found.worker);
            let outcome = Outcome::new(Class::Uncertain, text);
            let effect = match self.routes.get(&lease.route) {
                Some(route) => decide(&outcome, &lease, route, now_us, rand::random()),
                // Another machine may know the route: leave the decision to it.
                None => Effect::Retry { due_us: now_us },
            };
            let attempt = Attempt {
                started_us: lease.claimed_us,
                ended_us: now_us,
                worker: found.worker.into(),
                outcome,
            };
            let settlement = Settlement {
                lease: lease.clone(),
                attempt: attempt.clone(),
                effect: effect.clone(),
                expired_by_us: Some(now_us),
                frees: self.routes.get(&lease.route).map(|r| r.frees.clone()).unwrap_or_default(),
            };
            if self.store.settle(settlement).await? == Settled::Done {
                taken += 1;
                self.metrics.takeovers.inc();
                let word = attempt.outcome.class.word();
                self.metrics.attempts.with_label_values(&[&*lease.route, word]).inc();
                tracing::warn!(job = %lease.job, attempt = lease.attempt, worker = %attempt.worker,
                    by = %self.worker, "takeover: the lease ended unsettled");
                report(&self.metrics, &lease, &attempt, &effect);
            }
        }
        Ok(taken)
    }
}

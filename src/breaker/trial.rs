//! Trials: one job of one process is let through to see whether a destination is back.
//!
//! Its process keeps the trial alive as long as it is at it, so that a slow answer is waited for
//! and a process that died is replaced.

use super::{Breaker, Watched, micros};
use crate::circuit::{cooldown, is_alive};
use crate::job::Outcome;
use crate::store::{StoreError, Trial};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The trial that a job is, if it is one. It is lost if somebody else takes it over.
pub struct Kept {
    trial: Arc<Mutex<Option<Trial>>>,
    /// Also when it was lost meanwhile.
    pub(super) is_trial: bool,
}

impl Breaker {
    /// Keeps a trial for this process until it is ended, or the answer is dropped.
    pub fn keep(&self, trial: Option<Trial>) -> Kept {
        let is_trial = trial.is_some();
        let kept = Kept { trial: Arc::new(Mutex::new(trial)), is_trial };
        if is_trial {
            let (store, clock, lease) = (self.store.clone(), self.clock.clone(), self.lease);
            let held = Arc::downgrade(&kept.trial);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(lease / 3).await;
                    let Some(held) = held.upgrade() else { return };
                    let mut held = held.lock().await;
                    let Some(trial) = &*held else { return };
                    let until_us = clock.now_us().saturating_add(micros(lease));
                    match store.prolong_trial(trial, until_us).await {
                        Ok(prolonged) => *held = prolonged,
                        Err(error) => tracing::warn!(%error, destination = %trial.destination,
                            "could not prolong the trial of a destination; trying again"),
                    }
                }
            });
        }
        kept
    }

    /// Ends a trial, if this is one, by what was settled; `None` if it was not settled here.
    pub async fn end(&self, kept: Kept, settled: Option<&Outcome>) {
        // Waits for a prolongation that is under way: it changes what the trial is known by.
        let trial = kept.trial.lock().await.take();
        if let Some(trial) = trial {
            self.judge(trial, settled).await;
        }
    }

    /// Says what came of a trial. `None`: nothing that tells anything of the destination.
    async fn judge(&self, trial: Trial, outcome: Option<&Outcome>) {
        let Some(watched) = self.watched.get(&trial.destination) else { return };
        let told = match outcome.and_then(|outcome| Some((is_alive(outcome)?, outcome))) {
            Some((true, _)) => self.close(watched, &trial).await,
            Some((false, outcome)) => self.reopen(watched, &trial, outcome).await,
            None => self.store.drop_trial(&trial, &watched.routes).await,
        };
        if let Err(error) = told {
            tracing::warn!(%error, destination = %trial.destination,
                "could not say what came of a trial; another job will try");
        }
    }

    async fn close(&self, watched: &Watched, trial: &Trial) -> Result<(), StoreError> {
        if self.store.close_circuit(trial, &watched.routes).await? {
            watched.seen().is_open = false;
            tracing::info!(destination = %trial.destination, opens = trial.opens,
                "circuit closed: the destination is back");
        }
        Ok(())
    }

    async fn reopen(
        &self,
        watched: &Watched,
        trial: &Trial,
        outcome: &Outcome,
    ) -> Result<(), StoreError> {
        let wait = cooldown(&watched.circuit, trial.opens + 1);
        let until_us = self.clock.now_us().saturating_add(micros(wait));
        let reason = format!("the trial failed: {}", outcome.detail);
        if self.store.reopen_circuit(trial, until_us, &reason, &watched.routes).await? {
            self.metrics.circuit_opened.with_label_values(&[&*trial.destination]).inc();
            tracing::warn!(destination = %trial.destination, reason, opens = trial.opens + 1,
                next = crate::clock::rfc3339(until_us), "circuit open again: its jobs wait");
        }
        Ok(())
    }
}

//! `process`: one lease, in a straight line: deliver, decide, settle. The lease is kept alive
//! meanwhile.
//!
//! It never claims, and it never writes without the lease's token.

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::decide::decide;
use crate::deliver::Destinations;
use crate::job::{Attempt, Class, Effect, Fault, Lease, Outcome, Parcel};
use crate::keep::Keeper;
use crate::source::Route;
use crate::store::{Settled, Settlement, Store, StoreError, Trial};
use crate::telemetry::Metrics;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// A lease and the place that it takes among the deliveries under way.
pub struct Work {
    /// The lease.
    pub lease: Lease,
    /// Given back when the destination has answered: the settle does not hold up the next job.
    pub place: OwnedSemaphorePermit,
    /// The place among those of jobs that yield to live ones, if it is such a job.
    pub background: Option<OwnedSemaphorePermit>,
    /// The job tries a destination whose circuit is not closed.
    pub trial: Option<Trial>,
}

/// Everything that processing a lease needs.
pub struct Processor {
    /// The ledger.
    pub store: Store,
    /// Where jobs go.
    pub destinations: Arc<Destinations>,
    /// Routes by name.
    pub routes: HashMap<Arc<str>, Arc<Route>>,
    /// Hears of every attempt how the destination is.
    pub breaker: Arc<Breaker>,
    /// Keeps leases alive.
    pub keeper: Arc<Keeper>,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// The ledger's time.
    pub clock: Clock,
    /// This process.
    pub worker: Arc<str>,
    /// Bytes of large bodies that may be held at once.
    pub memory: Arc<Semaphore>,
    /// Turns true when attempts under way must end.
    pub deadline: watch::Receiver<bool>,
}

/// Wait between two tries to settle while the store is down.
const SETTLE_AGAIN: Duration = Duration::from_millis(500);

impl Processor {
    /// Processes one lease to its end.
    pub async fn run(&self, work: Work) {
        let Work { lease, place, background, trial } = work;
        let lost = self.keeper.hold(&lease);
        let trial = self.breaker.keep(trial);
        let destination = self.routes.get(&lease.route).map_or("", |route| &route.destination);
        let started_us = self.clock.now_us();
        let outcome = tokio::select! {
            outcome = self.deliver(&lease) => outcome,
            () = lost.notified() => {
                self.metrics.leases_lost.inc();
                tracing::warn!(job = %lease.job, attempt = lease.attempt,
                    "lost the lease while delivering; the attempt was broken off");
                self.keeper.release(&lease);
                return self.breaker.end(trial, None).await;
            }
            () = self.cut_off() => Outcome::new(Class::Uncertain,
                "broken off by the shutdown of the worker, outcome unknown")
                .blaming(Fault::Posthouse),
        };
        drop(place);
        if background.is_some() {
            drop(background);
            self.store.wake().now([lease.route.clone()]);
        }
        let ended_us = self.clock.now_us();
        self.breaker.count(destination, &lease, &trial, &outcome).await;
        let attempt = Attempt { started_us, ended_us, worker: self.worker.clone(), outcome };
        let settled = self.settle(&lease, attempt).await;
        self.keeper.release(&lease);
        self.breaker.end(trial, settled.as_ref()).await;
    }

    /// Calls the destination. A panic in it is a failed attempt.
    async fn deliver(&self, lease: &Lease) -> Outcome {
        let Some(route) = self.routes.get(&lease.route) else {
            let outcome = Outcome::new(Class::Unreached, "the route is not configured any more");
            return outcome.blaming(Fault::Posthouse);
        };
        let (parcel, _held) = match self.with_body(&lease.delivery).await {
            Ok(held) => held,
            Err(error) => {
                let detail = format!("the body could not be read: {error}");
                return Outcome::new(Class::Unreached, detail).blaming(Fault::Posthouse);
            }
        };
        let entity = entity(route, &parcel);
        let lease = Lease { delivery: parcel, entity, ..lease.clone() };
        let now_us = self.clock.now_us();
        let delivering = self.destinations.deliver(&route.destination, &lease, now_us);
        AssertUnwindSafe(delivering).catch_unwind().await.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "without a message".into());
            Outcome::new(Class::Failed, format!("panicked: {text}")).blaming(Fault::Handler)
        })
    }

    /// A parcel with its body, and the memory that a large body takes.
    async fn with_body(
        &self,
        parcel: &Arc<Parcel>,
    ) -> Result<(Arc<Parcel>, Option<OwnedSemaphorePermit>), StoreError> {
        if parcel.body.is_some() || parcel.forgotten {
            return Ok((parcel.clone(), None));
        }
        let wanted = u32::try_from(parcel.body_bytes).unwrap_or(u32::MAX);
        let held = self.memory.clone().acquire_many_owned(wanted).await.ok();
        let body = self.store.body(parcel.id).await?;
        let forgotten = body.is_none();
        Ok((Arc::new(Parcel { body, forgotten, ..(**parcel).clone() }), held))
    }

    async fn cut_off(&self) {
        let mut deadline = self.deadline.clone();
        if deadline.wait_for(|reached| *reached).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Decides and settles; while the store is down, again and again as long as the lease may
    /// still be ours. After that a sweep settles the job in our place. Returns what was settled.
    async fn settle(&self, lease: &Lease, mut attempt: Attempt) -> Option<Outcome> {
        let route = self.routes.get(&lease.route);
        let frees = route.map(|route| route.frees.clone()).unwrap_or_default();
        loop {
            let effect = self.decide(lease, &attempt.outcome);
            let settlement = Settlement {
                lease: lease.clone(),
                attempt: attempt.clone(),
                effect: effect.clone(),
                expired_by_us: None,
                frees: frees.clone(),
            };
            match self.store.settle(settlement).await {
                Ok(Settled::Done) => {
                    self.settled(lease, &attempt, &effect);
                    return Some(attempt.outcome);
                }
                Ok(Settled::LeaseLost) => {
                    self.metrics.leases_lost.inc();
                    tracing::warn!(job = %lease.job, attempt = lease.attempt, token = lease.token,
                        "the settle was refused: the lease is lost");
                    return None;
                }
                Err(StoreError::Refused(error)) if !attempt.outcome.writes.is_empty() => {
                    let text = format!("the handler's writes were refused: {error}");
                    attempt.outcome = Outcome::new(Class::Failed, text).blaming(Fault::Handler);
                }
                Err(error) => {
                    if !self.keeper.may_still_hold(lease) {
                        tracing::error!(job = %lease.job, attempt = lease.attempt, %error,
                            "could not settle before the lease ended; a sweep will take it over");
                        return None;
                    }
                    tracing::warn!(job = %lease.job, %error, "could not settle; trying again");
                    tokio::time::sleep(SETTLE_AGAIN).await;
                }
            }
        }
    }

    fn decide(&self, lease: &Lease, outcome: &Outcome) -> Effect {
        match self.routes.get(&lease.route) {
            Some(route) => decide(outcome, lease, route, self.clock.now_us(), rand::random()),
            None => Effect::Die { halt_lane: false, pause_route: false },
        }
    }

    /// Counts and tells what was settled.
    fn settled(&self, lease: &Lease, attempt: &Attempt, effect: &Effect) {
        let word = attempt.outcome.class.word();
        self.metrics.attempts.with_label_values(&[&*lease.route, word]).inc();
        // A replay was received long ago; its age says nothing of how fast we are.
        if lease.nonce.is_none() && *effect == Effect::Succeed {
            let seconds = (self.clock.now_us() - lease.delivery.received_us) as f64 / 1e6;
            self.metrics.end_to_end_seconds.with_label_values(&[&*lease.route]).observe(seconds);
        }
        report(&self.metrics, lease, attempt, effect);
    }
}

/// What the lane of a delivery on a route is about.
fn entity(route: &Route, parcel: &Parcel) -> Option<String> {
    let body = parcel.body.as_deref().unwrap_or_default();
    let plan = route.plan(parcel.entity.as_deref(), parcel.headers.get("content-type"), body);
    plan.lane.map(|lane| lane.entity)
}

/// Logs an effect that somebody may want to know of.
pub fn report(metrics: &Metrics, lease: &Lease, attempt: &Attempt, effect: &Effect) {
    let detail = &attempt.outcome.detail;
    match effect {
        Effect::Succeed => {
            tracing::debug!(job = %lease.job, route = %lease.route, attempt = lease.attempt,
                "delivered");
        }
        Effect::Retry { due_us } => {
            tracing::info!(job = %lease.job, route = %lease.route, attempt = lease.attempt,
                reason = detail, next = crate::clock::rfc3339(*due_us), "attempt failed");
        }
        Effect::Die { halt_lane, pause_route } => {
            metrics.died.with_label_values(&[&*lease.route]).inc();
            tracing::error!(job = %lease.job, route = %lease.route, attempt = lease.attempt,
                reason = detail, halt_lane, pause_route, "job dead");
            if *pause_route {
                tracing::error!(route = %lease.route, reason = detail,
                    "route paused; `posthouse resume route` lets it go on");
            }
        }
        Effect::Doubt { halt_lane, .. } => {
            metrics.uncertain.with_label_values(&[&*lease.route]).inc();
            tracing::error!(job = %lease.job, route = %lease.route, attempt = lease.attempt,
                reason = detail, halt_lane, "job uncertain; `posthouse jobs resolve` decides");
        }
    }
}

//! The claimer: takes leases as fast as places are free and hands them to the worker.
//!
//! It is woken by what is recorded and settled, and looks by itself once in a while. Errors of the
//! store stay in here: it waits and tries again.

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::process::Work;
use crate::store::{Claim, Claimed, Limits, Store, StoreError, Trial};
use crate::telemetry::Metrics;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// Jobs taken in one claim. More would only make the others wait for its answer.
pub(super) const CLAIM_MAX: usize = 64;

/// Wait after an error of the store before the next look.
const BACK_OFF: Duration = Duration::from_millis(500);

/// What the claimer needs.
pub struct Claimer {
    /// The ledger.
    pub store: Store,
    /// The ledger's time.
    pub clock: Clock,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Routes to claim for, and their destinations.
    pub routes: BTreeMap<Arc<str>, Arc<str>>,
    /// What destinations are bounded to, by their names.
    pub limits: BTreeMap<Arc<str>, Arc<Limits>>,
    /// Which destinations are left alone.
    pub breaker: Arc<Breaker>,
    /// This process.
    pub worker: Arc<str>,
    /// Deliveries that may be under way at once.
    pub concurrency: usize,
    /// Places of them that jobs may take which yield to live ones: half, so that a live job
    /// never waits for a bulk of slow old ones.
    pub background: Arc<Semaphore>,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The slow poll beneath the wake-ups.
    pub poll: Duration,
    /// Turns true when no more jobs are to be taken.
    pub stop: watch::Receiver<bool>,
    /// When the last look at the table succeeded, in ledger time: a stale one means that the
    /// claimer is stuck or the store is down.
    pub alive_us: Arc<AtomicI64>,
}

/// Routes that may have work, in the order in which they are looked at.
#[derive(Default)]
struct Dirty {
    routes: VecDeque<Arc<str>>,
    /// Which route of a bounded destination took jobs last.
    served: BTreeMap<Arc<str>, Arc<str>>,
}

impl Dirty {
    fn add(&mut self, route: Arc<str>) {
        if !self.routes.contains(&route) {
            self.routes.push_back(route);
        }
    }

    /// The next one. What there is room for at a bounded destination goes to its routes in turn:
    /// the first in the alphabet would otherwise take it all.
    fn next(&mut self, destinations: &BTreeMap<Arc<str>, Arc<str>>) -> Option<Arc<str>> {
        let first = self.routes.front()?;
        let destination = destinations.get(first);
        let had_its_turn = destination.and_then(|to| self.served.get(to)) == Some(first);
        let other = |route: &Arc<str>| route != first && destinations.get(route) == destination;
        let at = self.routes.iter().position(other).filter(|_| had_its_turn).unwrap_or(0);
        self.routes.remove(at)
    }
}

impl Claimer {
    /// Claims until told to stop. Dropping the sender ends the worker once it is done.
    pub(super) async fn run(mut self, leases: mpsc::Sender<Work>) {
        if let Err(error) = self.breaker.forget_others().await {
            tracing::warn!(%error, "could not look for circuits that are left over");
        }
        let places = Arc::new(Semaphore::new(self.concurrency));
        let mut dirty = Dirty::default();
        self.routes.keys().for_each(|route| dirty.add(route.clone()));
        let wake = self.store.wake().clone();
        let mut next_poll = tokio::time::Instant::now() + self.poll;
        while !*self.stop.borrow() {
            let (routes, next_due) = wake.take(self.clock.now_us());
            routes.into_iter().filter(|r| self.routes.contains_key(r)).for_each(|r| dirty.add(r));
            if tokio::time::Instant::now() >= next_poll {
                next_poll = tokio::time::Instant::now() + self.poll;
                self.routes.keys().for_each(|route| dirty.add(route.clone()));
                self.look().await;
            }
            let Some(route) = dirty.next(&self.routes) else {
                self.touch();
                let due = next_due.map_or(self.poll, |due_us| self.until(due_us));
                tokio::select! {
                    () = wake.wait() => {}
                    () = tokio::time::sleep(due) => {}
                    () = tokio::time::sleep_until(next_poll) => {}
                    _ = self.stop.changed() => {}
                }
                continue;
            };
            let Some(first) = self.place(&places).await else { return };
            let mut free = vec![first];
            while free.len() < CLAIM_MAX
                && let Ok(place) = places.clone().try_acquire_owned()
            {
                free.push(place);
            }
            match self.claim(&route, free.len()).await {
                Ok((claimed, trial)) => {
                    self.touch();
                    if let Some(again_us) = claimed.again_us {
                        wake.at(again_us, route.clone());
                    } else if claimed.leases.len() == free.len() {
                        dirty.routes.push_back(route.clone());
                    }
                    if !claimed.leases.is_empty() {
                        self.note_turn(&mut dirty, &route);
                    }
                    if !self.hand_over(&leases, claimed, trial, free).await {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, route = %route, "could not claim jobs; trying again");
                    dirty.routes.push_back(route);
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }

    fn note_turn(&self, dirty: &mut Dirty, route: &Arc<str>) {
        let Some(destination) = self.routes.get(route) else { return };
        if self.limits.contains_key(destination) {
            dirty.served.insert(destination.clone(), route.clone());
        }
    }

    /// Claims jobs of a route, or one job to try a destination that is left alone.
    async fn claim(
        &self,
        route: &Arc<str>,
        count: usize,
    ) -> Result<(Claimed, Option<Trial>), StoreError> {
        self.metrics.claims.inc();
        let wanted = self.wanted(route, count);
        if !wanted.circuit {
            return Ok((self.store.claim(&wanted).await?, None));
        }
        let known_open = self.breaker.saw_open(&wanted.destination);
        if !known_open {
            let claimed = self.store.claim(&wanted).await?;
            if !claimed.leases.is_empty() || claimed.again_us.is_some() {
                return Ok((claimed, None));
            }
        }
        // Nothing was taken: there is nothing, or the circuit has been opened.
        let open = self.breaker.look().await?;
        match open.iter().find(|row| *row.destination == *wanted.destination) {
            None if known_open => Ok((self.store.claim(&wanted).await?, None)),
            None => Ok((Claimed::default(), None)),
            Some(row) if row.until.0 > self.clock.now_us() => {
                let again_us = Some(row.until.0);
                Ok((Claimed { leases: Vec::new(), again_us }, None))
            }
            Some(_) => self.store.claim_trial(&wanted, self.breaker.trial_until_us()).await,
        }
    }

    /// What others opened meanwhile changes what is counted here.
    async fn look(&self) {
        if let Err(error) = self.breaker.look().await {
            tracing::warn!(%error, "could not look at the circuits; trying again");
        }
    }

    /// Waits for a free place; `None` when told to stop. Busy is not dead, and says so.
    async fn place(&mut self, places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        loop {
            tokio::select! {
                place = places.clone().acquire_owned() => return place.ok(),
                () = tokio::time::sleep(self.poll) => self.touch(),
                _ = self.stop.changed() => return None,
            }
            self.look().await;
        }
    }

    fn wanted(&self, route: &Arc<str>, count: usize) -> Claim {
        let lease_us = i64::try_from(self.lease.as_micros()).unwrap_or(i64::MAX / 2);
        let destination = self.routes.get(route).cloned().unwrap_or_else(|| "".into());
        Claim {
            route: route.clone(),
            circuit: self.breaker.minds(&destination),
            limits: self.limits.get(&destination).cloned(),
            destination,
            count: count as i64,
            background: self.background.available_permits() as i64,
            worker: self.worker.clone(),
            lease_until_us: self.clock.now_us() + lease_us,
        }
    }

    fn until(&self, due_us: i64) -> Duration {
        Duration::from_micros(u64::try_from(due_us - self.clock.now_us()).unwrap_or(0))
    }

    fn touch(&self) {
        self.alive_us.store(self.clock.now_us(), Ordering::Relaxed);
    }

    /// Hands leases to the worker, each with its place. `false` when there is no worker any more.
    async fn hand_over(
        &self,
        leases: &mpsc::Sender<Work>,
        claimed: Claimed,
        mut trial: Option<Trial>,
        free: Vec<OwnedSemaphorePermit>,
    ) -> bool {
        for (lease, place) in claimed.leases.into_iter().zip(free) {
            let yields = lease.rank > 0;
            // There is one: nobody else takes any, and no more were claimed than there were.
            let background =
                if yields { self.background.clone().try_acquire_owned().ok() } else { None };
            if leases.send(Work { lease, place, background, trial: trial.take() }).await.is_err() {
                return false;
            }
        }
        true
    }
}

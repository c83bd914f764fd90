//! The queue that apalis works on: a backend over our `jobs` table.
//!
//! A claimer takes leases as fast as places are free and hands them to the worker; it is woken
//! by what is recorded and settled, and looks by itself once in a while. Errors of the store stay
//! in here: an error out of a backend would stop the worker and drop what is in flight.

use crate::clock::Clock;
use crate::process::{Processor, Work};
use crate::store::{Claim, Store};
use apalis::prelude::{Task, TaskBuilder, WorkerBuilder, WorkerContext};
use apalis_core::backend::finalize::Ephemeral;
use apalis_core::backend::{Backend, BackendConfig};
use apalis_core::task::task_id::RandomId;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// Jobs taken in one claim. More would only make the others wait for its answer.
const CLAIM_MAX: usize = 64;

/// Wait after an error of the store before the next look.
const BACK_OFF: Duration = Duration::from_millis(500);

/// What the claimer needs.
pub struct Claimer {
    /// The ledger.
    pub store: Store,
    /// The ledger's time.
    pub clock: Clock,
    /// Routes to claim for, and their destinations.
    pub routes: BTreeMap<Arc<str>, Arc<str>>,
    /// This process.
    pub worker: Arc<str>,
    /// Deliveries that may be under way at once.
    pub concurrency: usize,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The slow poll beneath the wake-ups.
    pub poll: Duration,
    /// Turns true when no more jobs are to be taken.
    pub stop: watch::Receiver<bool>,
    /// When the last look at the table succeeded, in ledger time: a stale one means that the
    /// claimer is stuck or the store is down.
    pub alive_us: Arc<std::sync::atomic::AtomicI64>,
}

impl Claimer {
    /// Claims until told to stop. Dropping the sender ends the worker once it is done.
    async fn run(mut self, leases: mpsc::Sender<Work>) {
        let places = Arc::new(Semaphore::new(self.concurrency));
        let mut dirty: VecDeque<Arc<str>> = self.routes.keys().cloned().collect();
        let wake = self.store.wake().clone();
        let mut next_poll = tokio::time::Instant::now() + self.poll;
        while !*self.stop.borrow() {
            let (routes, next_due) = wake.take(self.clock.now_us());
            for route in routes {
                if self.routes.contains_key(&route) && !dirty.contains(&route) {
                    dirty.push_back(route);
                }
            }
            if tokio::time::Instant::now() >= next_poll {
                next_poll = tokio::time::Instant::now() + self.poll;
                dirty = self.routes.keys().cloned().collect();
            }
            let Some(route) = dirty.pop_front() else {
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
            match self.store.claim(&self.wanted(&route, free.len())).await {
                Ok(taken) => {
                    self.touch();
                    if taken.len() == free.len() {
                        dirty.push_back(route);
                    }
                    for (lease, place) in taken.into_iter().zip(free) {
                        if leases.send(Work { lease, place }).await.is_err() {
                            return;
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, route = %route, "could not claim jobs; trying again");
                    dirty.push_back(route);
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
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
        }
    }

    fn wanted(&self, route: &Arc<str>, count: usize) -> Claim {
        let lease_us = i64::try_from(self.lease.as_micros()).unwrap_or(i64::MAX / 2);
        Claim {
            route: route.clone(),
            destination: self.routes.get(route).cloned().unwrap_or_else(|| "".into()),
            count: count as i64,
            worker: self.worker.clone(),
            lease_until_us: self.clock.now_us() + lease_us,
        }
    }

    fn until(&self, due_us: i64) -> Duration {
        Duration::from_micros(u64::try_from(due_us - self.clock.now_us()).unwrap_or(0))
    }

    fn touch(&self) {
        self.alive_us.store(self.clock.now_us(), std::sync::atomic::Ordering::Relaxed);
    }
}

/// The claimed leases, as a backend of apalis.
struct Leases(mpsc::Receiver<Work>);

impl Backend for Leases {
    type Task = Task<Work>;
    type Error = Infallible;

    fn poll_ready(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        worker: &WorkerContext,
    ) -> Poll<Option<Result<Task<Work>, Infallible>>> {
        let work = ready!(self.0.poll_recv(context));
        if work.is_none() {
            // The end of the tasks is not the end of a worker: it would wait to be stopped. An
            // error says that it has not started, and then there is nothing to stop.
            let _ = worker.stop();
        }
        Poll::Ready(work.map(|work| Ok(TaskBuilder::new(work).build())))
    }

    fn poll_close(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
}

impl BackendConfig for Leases {
    type Args = Work;
    type Id = RandomId;
    type Kind = Ephemeral;
    type Config = ();
    type Layer = tower::layer::util::Identity;

    fn config(&self) -> &() {
        &()
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> Self::Layer {
        Self::Layer::new()
    }
}

/// Works on jobs until the claimer is told to stop and what is in flight is settled.
pub async fn work(claimer: Claimer, processor: Arc<Processor>) {
    let (sender, receiver) = mpsc::channel(CLAIM_MAX);
    let name = claimer.worker.to_string();
    let claiming = tokio::spawn(claimer.run(sender));
    let service = tower::service_fn(move |task: Task<Work>| {
        let processor = processor.clone();
        async move {
            // A task of its own: jobs then run on all threads. An error would stop the worker.
            if let Err(error) = tokio::spawn(async move { processor.run(task.args).await }).await {
                tracing::error!(%error, "processing broke off; a sweep will take the job over");
            }
            Ok::<(), Infallible>(())
        }
    });
    let worker = WorkerBuilder::new(name).backend(Leases(receiver)).build(service);
    if let Err(error) = worker.run().await {
        tracing::error!(%error, "the worker stopped");
    }
    claiming.abort();
}

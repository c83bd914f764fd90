//! Makes the parts of the two sides of the work out of the configuration.

use super::StartError;
use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::config::Config;
use crate::deliver::{Destinations, Handler};
use crate::keep::Keeper;
use crate::keys::Remote;
use crate::process::Processor;
use crate::quarantine::Quarantine;
use crate::queue::{self, Claimer};
use crate::receive::{Entry, Intake};
use crate::reconcile::Reconciler;
use crate::refusals;
use crate::source::Route;
use crate::store::{Limits, Store};
use crate::sweep::Sweeper;
use crate::telemetry::Metrics;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

/// Bytes of bodies above 64 KiB that deliveries may hold at once. A body larger than this could
/// never be delivered, so it is no smaller than the largest body of any source.
const LARGE_BODIES_BYTES: usize = 64 << 20;

/// What every part of the worker side needs.
pub(super) struct Parts<'a> {
    pub(super) config: &'a Config,
    pub(super) store: &'a Store,
    pub(super) clock: &'a Clock,
    pub(super) metrics: &'a Arc<Metrics>,
}

impl Parts<'_> {
    /// Starts the worker and the loops beside it.
    pub(super) fn work(
        &self,
        handlers: BTreeMap<String, Arc<dyn Handler>>,
        alive_us: Arc<AtomicI64>,
        stop: watch::Receiver<bool>,
        deadline: watch::Receiver<bool>,
        loops: &mut JoinSet<()>,
    ) -> Result<JoinHandle<()>, StartError> {
        let config = self.config;
        let worker: Arc<str> = worker_name().into();
        let routes: HashMap<Arc<str>, Arc<Route>> =
            config.routes.iter().map(|route| (route.name.clone(), route.clone())).collect();
        let keeper = Arc::new(Keeper::new(config.workers.lease));
        loops.spawn(keeper.clone().run(self.store.clone()));
        let sweeper = Sweeper {
            keeper: keeper.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            routes: routes.clone(),
            worker: worker.clone(),
            metrics: self.metrics.clone(),
        };
        loops.spawn(sweeper.run((config.workers.lease / 4).max(Duration::from_millis(250))));
        let largest = config.sources.values().map(|source| source.body_bytes_max).max();
        let memory = LARGE_BODIES_BYTES.max(largest.unwrap_or_default());
        let destinations = Arc::new(Destinations::new(&config.destinations, handlers)?);
        let reconciler = Reconciler {
            store: self.store.clone(),
            clock: self.clock.clone(),
            destinations: destinations.clone(),
            routes: routes.clone(),
            metrics: self.metrics.clone(),
        };
        loops.spawn(reconciler.run());
        let breaker = Arc::new(Breaker::new(
            self.store.clone(),
            self.clock.clone(),
            self.metrics.clone(),
            config.workers.lease,
            &config.destinations,
            &config.routes,
        ));
        let processor = Processor {
            breaker: breaker.clone(),
            store: self.store.clone(),
            destinations,
            routes,
            keeper,
            metrics: self.metrics.clone(),
            clock: self.clock.clone(),
            worker: worker.clone(),
            memory: Arc::new(Semaphore::new(memory)),
            deadline,
        };
        let claimer = Claimer {
            breaker,
            limits: limits(config),
            metrics: self.metrics.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            routes: config
                .routes
                .iter()
                .map(|route| (route.name.clone(), route.destination.clone()))
                .collect(),
            worker,
            concurrency: config.workers.concurrency,
            background: Arc::new(Semaphore::new((config.workers.concurrency / 2).max(1))),
            lease: config.workers.lease,
            poll: config.workers.poll,
            stop,
            alive_us,
        };
        Ok(tokio::spawn(queue::work(claimer, Arc::new(processor))))
    }
}

/// What all processes together may do to the destinations that are bounded.
fn limits(config: &Config) -> BTreeMap<Arc<str>, Arc<Limits>> {
    let limits = config.destinations.iter().filter_map(|(name, destination)| {
        let (rate_per_s, concurrency) = (destination.rate_per_s, destination.concurrency);
        rate_per_s.or(concurrency)?;
        let of = config.routes.iter().filter(|route| route.destination == *name);
        let routes = of.map(|route| route.name.clone()).collect();
        Some((name.clone(), Arc::new(Limits { rate_per_s, concurrency, routes })))
    });
    limits.collect()
}

/// The receiving side.
pub(super) fn intake(
    config: &Config,
    store: &Store,
    clock: &Clock,
    metrics: &Arc<Metrics>,
    refusals: Arc<refusals::Ledger>,
) -> Intake {
    let entry = |source: &Arc<crate::source::Source>| {
        let of_source = config.routes.iter().filter(|route| route.source == source.name);
        (source.name.to_string(), Entry::new(source.clone(), of_source.cloned().collect()))
    };
    Intake {
        sources: config.sources.values().map(entry).collect(),
        store: store.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        keys: Remote::new(&config.keys, metrics.clone()),
        refusals,
        quarantine: Arc::new(Quarantine::new(config, metrics.clone())),
        memory: Semaphore::new(config.server.body_memory.0),
        body_timeout: config.server.body_timeout,
    }
}

/// Names the process in leases and attempts: host, process, and a random part, because numbers
/// of processes come again.
fn worker_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "host" } else { host };
    format!("{host}-{}-{:08x}", std::process::id(), rand::random::<u32>())
}

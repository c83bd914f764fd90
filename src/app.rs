//! Wires the parts, starts them, and stops them in order.
//!
//! Order of stopping: no new requests, answer those under way; no new claims, finish the jobs
//! under way or break them off at the deadline; then the store.

use crate::admin::{self, Admin, Liveness};
use crate::clock::Clock;
use crate::config::{Config, kept_secret};
use crate::deliver::{Destinations, Handler};
use crate::http::{self, Limits, Running};
use crate::keep::Keeper;
use crate::process::Processor;
use crate::queue::{self, Claimer};
use crate::receive::{Entry, Intake};
use crate::refusals;
use crate::retain;
use crate::source::Route;
use crate::store::{Settings, Store};
use crate::sweep::Sweeper;
use crate::telemetry::Metrics;
use anyhow::Context;
use providers::Secret;
use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

/// What a process does of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Receives and records.
    Receiver,
    /// Delivers.
    Worker,
    /// Both.
    #[default]
    All,
}

/// A running Posthouse.
pub struct App {
    /// Where webhooks are received; absent in a worker.
    pub public: Option<SocketAddr>,
    /// Where the admin API is.
    pub admin: SocketAddr,
    /// The ledger.
    pub store: Store,
    listener: Option<Running>,
    admin_listener: Running,
    loops: JoinSet<()>,
    stop_claims: watch::Sender<bool>,
    break_off: watch::Sender<bool>,
    work: Option<JoinHandle<()>>,
    work_timeout: Duration,
}

/// Bytes of bodies above 64 KiB that deliveries may hold at once. A body larger than this could
/// never be delivered, so it is no smaller than the largest body of any source.
const LARGE_BODIES_BYTES: usize = 64 << 20;

impl App {
    /// Starts everything that a role does. `handlers` are the destinations of type `handler`.
    pub async fn start(
        config: &Config,
        role: Role,
        handlers: BTreeMap<String, Arc<dyn Handler>>,
    ) -> anyhow::Result<Self> {
        let clock = Clock::default();
        let metrics = Arc::new(Metrics::new()?);
        let store = Store::open(&settings(config), clock.clone()).await.context("store")?;
        let mut loops = JoinSet::new();
        let (stop_claims, stopping) = watch::channel(false);
        let (break_off, deadline) = watch::channel(false);

        let receives = role != Role::Worker;
        let (public, public_listener) = match receives {
            true => {
                let refusals = Arc::new(refusals::Ledger::default());
                let (store, writing) = (store.clone(), refusals.clone());
                let intake = intake(config, &store, &clock, &metrics, refusals);
                loops.spawn(async move { writing.run(&store).await });
                let listener = bind(config.server.listen)?;
                let address = listener.local_addr()?;
                let running = http::serve(listener, Arc::new(intake), limits(config))?;
                (Some(address), Some(running))
            }
            false => (None, None),
        };

        let mut liveness = None;
        let work = match role {
            Role::Receiver => None,
            Role::Worker | Role::All => {
                let alive_us = Arc::new(AtomicI64::new(clock.now_us()));
                liveness = Some(Liveness::new(alive_us.clone(), config.workers.poll));
                let parts = Parts { config, store: &store, clock: &clock, metrics: &metrics };
                Some(parts.work(handlers, alive_us, stopping, deadline, &mut loops)?)
            }
        };
        loops.spawn(retain::run(store.clone(), retain::ages(config), config.retention.interval));

        let listener = bind(config.admin.listen)?;
        let admin_address = listener.local_addr()?;
        let token = admin_token(config)?;
        let admin = Admin::new(config, store.clone(), clock, metrics, token, liveness);
        let admin_listener = admin::serve(listener, Arc::new(admin))?;
        Ok(Self {
            public,
            admin: admin_address,
            store,
            listener: public_listener,
            admin_listener,
            loops,
            stop_claims,
            break_off,
            work,
            work_timeout: config.workers.shutdown,
        })
    }

    /// Stops everything in order. Returns when nothing is under way any more.
    pub async fn stop(mut self) {
        if let Some(listener) = self.listener.take() {
            listener.stop().await;
        }
        let _ = self.stop_claims.send(true);
        if let Some(mut work) = self.work.take() {
            if tokio::time::timeout(self.work_timeout, &mut work).await.is_err() {
                tracing::warn!("jobs under way did not end in time; they are broken off");
                let _ = self.break_off.send(true);
                let _ = work.await;
            }
        }
        // Last of the listeners: health and the ledger can be looked at until the end.
        self.admin_listener.stop().await;
        self.loops.shutdown().await;
        self.store.close().await;
    }
}

/// Runs until a signal or the end of a listener, then stops in order.
pub async fn serve(config: Config, role: Role) -> anyhow::Result<()> {
    let app = App::start(&config, role, BTreeMap::new()).await?;
    greet(&config, &app);
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
        _ = tokio::signal::ctrl_c() => tracing::info!("SIGINT: stopping"),
    }
    app.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// What every part of the worker side needs.
struct Parts<'a> {
    config: &'a Config,
    store: &'a Store,
    clock: &'a Clock,
    metrics: &'a Arc<Metrics>,
}

impl Parts<'_> {
    fn work(
        &self,
        handlers: BTreeMap<String, Arc<dyn Handler>>,
        alive_us: Arc<AtomicI64>,
        stop: watch::Receiver<bool>,
        deadline: watch::Receiver<bool>,
        loops: &mut JoinSet<()>,
    ) -> anyhow::Result<JoinHandle<()>> {
        let config = self.config;
        let worker: Arc<str> = worker_name().into();
        let routes: HashMap<Arc<str>, Arc<Route>> =
            config.routes.iter().map(|route| (route.name.clone(), route.clone())).collect();
        let keeper = Arc::new(Keeper::new(config.workers.lease));
        loops.spawn(keeper.clone().run(self.store.clone()));
        let sweeper = Sweeper {
            store: self.store.clone(),
            clock: self.clock.clone(),
            routes: routes.clone(),
            worker: worker.clone(),
            metrics: self.metrics.clone(),
        };
        loops.spawn(sweeper.run((config.workers.lease / 4).max(Duration::from_millis(250))));
        let largest = config.sources.values().map(|source| source.body_bytes_max).max();
        let memory = LARGE_BODIES_BYTES.max(largest.unwrap_or_default());
        let processor = Processor {
            store: self.store.clone(),
            destinations: Destinations::new(&config.destinations, handlers)?,
            routes,
            keeper,
            metrics: self.metrics.clone(),
            clock: self.clock.clone(),
            worker: worker.clone(),
            memory: Arc::new(Semaphore::new(memory)),
            deadline,
        };
        let claimer = Claimer {
            store: self.store.clone(),
            clock: self.clock.clone(),
            routes: config.routes.iter().map(|route| route.name.clone()).collect(),
            worker,
            concurrency: config.workers.concurrency,
            lease: config.workers.lease,
            poll: config.workers.poll,
            stop,
            alive_us,
        };
        Ok(tokio::spawn(queue::work(claimer, Arc::new(processor))))
    }
}

fn intake(
    config: &Config,
    store: &Store,
    clock: &Clock,
    metrics: &Arc<Metrics>,
    refusals: Arc<refusals::Ledger>,
) -> Intake {
    let entry = |source: &Arc<crate::source::Source>| {
        let of_source = config.routes.iter().filter(|route| route.source == source.name);
        let routes = of_source.cloned().collect();
        (source.name.to_string(), Entry { source: source.clone(), routes, rate: AtomicI64::new(0) })
    };
    Intake {
        sources: config.sources.values().map(entry).collect(),
        store: store.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        refusals,
        memory: Semaphore::new(config.server.body_memory.0),
        body_timeout: config.server.body_timeout,
    }
}

/// How the configured store is opened.
pub fn settings(config: &Config) -> Settings {
    Settings {
        url: config.database.url(),
        connections: config.store.connections,
        queue_max: config.store.queue_max,
        queue_bytes: config.store.queue_bytes.0,
        batch_max: config.store.batch_max,
    }
}

fn limits(config: &Config) -> Limits {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Limits {
        threads: config.server.threads.unwrap_or_else(cores),
        connections: config.server.connections_max,
        header_timeout: config.server.header_timeout,
        shutdown: config.server.shutdown,
    }
}

fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
}

/// The configured token, or the generated one in the data directory.
fn admin_token(config: &Config) -> anyhow::Result<Secret> {
    if let Some(token) = config.admin.token() {
        return Ok(token.clone());
    }
    let path = config.store.token_path();
    let (token, _) = kept_secret(&path).with_context(|| format!("{}", path.display()))?;
    Ok(token)
}

/// Names the process in leases and attempts: host, process, and a random part, because numbers
/// of processes come again.
fn worker_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "host" } else { host };
    format!("{host}-{}-{:08x}", std::process::id(), rand::random::<u32>())
}

/// Says on standard output where everything is.
fn greet(config: &Config, app: &App) {
    let mut lines = Vec::new();
    if let Some(address) = app.public {
        let base = match &config.server.public_url {
            Some(url) => url.0.trim_end_matches('/').to_owned(),
            None => format!("http://{address}"),
        };
        for source in config.sources.values() {
            lines.push(format!(
                "receiving {base}/hooks/{} ({})",
                source.name,
                source.provider.name()
            ));
        }
    }
    lines.extend(config.notes.iter().map(|note| format!("note: {note}")));
    lines.push(format!("admin API http://{}", app.admin));
    if config.admin.token().is_none() {
        lines.push(format!("admin token in {}", config.store.token_path().display()));
    }
    if let Some((name, _)) = config.sources.first_key_value().filter(|_| app.public.is_some()) {
        let event = if &**name == "stripe" { "invoice.paid" } else { "push" };
        let program = std::env::args().next().unwrap_or_else(|| "posthouse".into());
        lines.push(format!("try in a second terminal: {program} trigger {name} {event}"));
    }
    lines.push(format!("ready, store: {}", app.store.engine()));
    use std::io::Write;
    // Nobody may be listening; that is no reason not to serve.
    let _ = std::io::stdout().write_all((lines.join("\n") + "\n").as_bytes());
}

//! Wires the parts, starts them, and stops them in order.
//!
//! Order of stopping: no new requests, answer those under way; no new claims, finish the jobs
//! under way or break them off at the deadline; then the store.

mod greet;
mod parts;

use crate::admin::{self, Admin, Liveness};
use crate::alarm::Watcher;
use crate::clock::Clock;
use crate::config::{Config, kept_secret};
use crate::deliver::{DestinationUnusable, Handler};
use crate::http::{self, Limits, Running};
use crate::quarantine::Quarantine;
use crate::refusals;
use crate::retain;
use crate::store::{Settings, Store, StoreError};
use crate::telemetry::{Metrics, MetricsError};
use providers::Secret;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use greet::greet;
use parts::{Parts, intake};

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
    quarantine: Arc<Quarantine>,
    listener: Option<Running>,
    admin_listener: Running,
    loops: JoinSet<()>,
    stop_claims: watch::Sender<bool>,
    break_off: watch::Sender<bool>,
    work: Option<JoinHandle<()>>,
    work_timeout: Duration,
}

/// Why a process does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be opened or brought up to date.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address is taken, or not ours.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The generated admin token cannot be kept.
    #[error("the admin token in {}: {error}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// Alarms cannot be sent as configured.
    #[error("alarms: {0}")]
    Alarms(String),
    /// A destination cannot be used as configured.
    #[error(transparent)]
    Destination(#[from] DestinationUnusable),
    /// Two metrics have one name: a fault of the program.
    #[error("metrics: {0}")]
    Metrics(#[from] MetricsError),
    /// Threads or signals are refused by the system.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl App {
    /// Starts everything that a role does. `handlers` are the destinations of type `handler`.
    pub async fn start(
        config: &Config,
        role: Role,
        handlers: BTreeMap<String, Arc<dyn Handler>>,
    ) -> Result<Self, StartError> {
        let clock = Clock::default();
        let metrics = Arc::new(Metrics::new()?);
        let store = Store::open(&settings(config), clock.clone()).await?;
        let mut loops = JoinSet::new();
        let (stop_claims, stopping) = watch::channel(false);
        let (break_off, deadline) = watch::channel(false);

        let refusals = Arc::new(refusals::Ledger::default());
        let intake = Arc::new(intake(config, &store, &clock, &metrics, refusals.clone()));
        let receives = role != Role::Worker;
        let (public, public_listener) = match receives {
            true => {
                let (ledger, writing) = (store.clone(), refusals);
                loops.spawn(async move { writing.run(&ledger).await });
                let (ledger, keeping) = (store.clone(), intake.quarantine.clone());
                loops.spawn(async move { keeping.run(&ledger).await });
                store.note_paused_sources().await?;
                loops.spawn(watch_pauses(store.clone()));
                let listener = bind(config.server.listen)?;
                let address = listener.local_addr()?;
                let running = http::serve(listener, intake.clone(), limits(config))?;
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
        let watcher = Watcher::new(config, store.clone(), clock.clone());
        loops.spawn(watcher.map_err(StartError::Alarms)?.run());
        loops.spawn(retain::run(store.clone(), retain::ages(config), config.retention.interval));

        let listener = bind(config.admin.listen)?;
        let admin_address = listener.local_addr()?;
        let token = admin_token(config)?;
        let quarantine = intake.quarantine.clone();
        let admin = Admin::new(config, intake, clock, metrics, token, liveness);
        let admin_listener = admin::serve(listener, Arc::new(admin))?;
        Ok(Self {
            public,
            admin: admin_address,
            store,
            quarantine,
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
        // What was refused last would otherwise be gone.
        self.quarantine.once(&self.store).await;
        let _ = self.stop_claims.send(true);
        if let Some(mut work) = self.work.take()
            && tokio::time::timeout(self.work_timeout, &mut work).await.is_err()
        {
            tracing::warn!("jobs under way did not end in time; they are broken off");
            let _ = self.break_off.send(true);
            let _ = work.await;
        }
        // Last of the listeners: health and the ledger can be looked at until the end.
        self.admin_listener.stop().await;
        self.loops.shutdown().await;
        self.store.close().await;
    }
}

/// Runs until a signal or the end of a listener, then stops in order.
pub async fn serve(config: Config, role: Role) -> Result<(), StartError> {
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

/// How long another process may not know that a source was paused.
const PAUSES_EVERY: Duration = Duration::from_secs(1);

/// Looks again and again which sources are paused.
async fn watch_pauses(store: Store) {
    loop {
        tokio::time::sleep(PAUSES_EVERY).await;
        if let Err(error) = store.note_paused_sources().await {
            tracing::warn!(%error, "could not look which sources are paused; trying again");
        }
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

fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).map_err(|error| StartError::Listen(address, error))
}

/// The configured token, or the generated one in the data directory.
fn admin_token(config: &Config) -> Result<Secret, StartError> {
    if let Some(token) = config.admin.token() {
        return Ok(token.clone());
    }
    let path = config.store.token_path();
    let (token, _) = kept_secret(&path).map_err(|error| StartError::Token { path, error })?;
    Ok(token)
}

//! Jobs a second out of a full queue, to a handler that does nothing.
//!
//! The queue is filled beforehand by the library, without workers. Time runs from the first call
//! of the handler until every job has its attempt in the ledger.

use crate::cluster::Cluster;
use crate::harness::database::Database;
use crate::ingest::Row;
use crate::library;
use crate::options::Options;
use crate::request::{mix, push};
use crate::server::Server;
use actix_web::web::Bytes;
use anyhow::{Context, bail};
use futures_util::future::try_join_all;
use posthouse::app::{self, Role};
use posthouse::clock::{Clock, wall_us};
use posthouse::config::{Config, Database as Configured};
use posthouse::deliver::Handler;
use posthouse::delivery::Arrival;
use posthouse::job::{Class, Lease, Outcome};
use posthouse::store::{Settings, Store};
use providers::{Coverage, Event, Position};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The entity of the long lane, whose first job takes longer than everything else.
const SLOW: &str = "slow";

/// How long a drain may take, and how long the slow job does.
const LIMIT: Duration = Duration::from_secs(120);

/// Arrivals handed to the store at once while the queue is filled.
const AT_ONCE: usize = 2_000;

/// What a drain came to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Drained {
    pub per_second: f64,
    /// Attempts in the ledger at the end.
    pub attempts: i64,
    /// Jobs that were not the next one of their lane.
    pub misplaced: usize,
}

/// Counts, and looks whether each job is the next one of its lane.
struct Sink {
    wanted: usize,
    first: OnceLock<Instant>,
    done: AtomicUsize,
    misplaced: AtomicUsize,
    lanes: Mutex<HashMap<i64, i64>>,
    all: Notify,
}

impl Sink {
    fn take(&self, lease: &Lease) {
        self.first.get_or_init(Instant::now);
        if let (Some(lane), Some(sequence)) = (lease.lane, lease.sequence) {
            let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            let before = lanes.insert(lane.0, sequence);
            if before.is_some_and(|before| before + 1 != sequence) {
                self.misplaced.fetch_add(1, Ordering::Relaxed);
            }
        } else {
            self.misplaced.fetch_add(1, Ordering::Relaxed);
        }
        if self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.wanted {
            self.all.notify_one();
        }
    }
}

impl Handler for Sink {
    fn handle<'a>(
        &'a self,
        lease: &'a Lease,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async {
            match lease.delivery.entity.as_deref() {
                Some(SLOW) => tokio::time::sleep(LIMIT).await,
                _ => self.take(lease),
            }
            Outcome::new(Class::Accepted, "")
        })
    }
}

/// The role: fills a queue, drains it, and prints what came of it.
pub fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let number = |at: usize| arguments.get(at)?.parse::<usize>().ok();
    let (Some(jobs), Some(lanes), Some(waiting)) = (number(0), number(1), number(2)) else {
        bail!("expected numbers of jobs, of lanes, and of jobs in the long lane");
    };
    library::run(async {
        let config = library::config()?;
        fill(&config, jobs, lanes, waiting).await?;
        println!("{}", serde_json::to_string(&drain(&config, jobs).await?)?);
        // The slow job is still under way; nobody needs to wait for it.
        std::process::exit(0);
    })
}

/// Records the long lane and then the jobs to be drained.
async fn fill(config: &Config, jobs: usize, lanes: usize, waiting: usize) -> anyhow::Result<()> {
    let settings = Settings { batch_max: 1000, ..app::settings(config) };
    let store = Store::open(&settings, Clock::default()).await?;
    let body = Bytes::from(push(1024, 0));
    let slow = (0..waiting).map(|_| SLOW.to_owned());
    let others = (0..jobs).map(|number| format!("repository:{}", number % lanes));
    let mut arrivals = slow
        .chain(others)
        .enumerate()
        .map(|(number, entity)| arrival(config, number as u64, entity, body.clone()));
    loop {
        let some: Vec<Arrival> = arrivals.by_ref().take(AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        try_join_all(some.into_iter().map(|arrival| store.record(arrival))).await?;
    }
    store.close().await;
    Ok(())
}

fn arrival(config: &Config, number: u64, entity: String, body: Bytes) -> Arrival {
    let event = Event {
        key: format!("{:016x}-{number:016x}", mix(number)),
        kind: "push".into(),
        entity: Some(entity),
        position: Position::default(),
        volatile: &[],
        part: None,
    };
    let jobs =
        config.routes.iter().map(|route| route.plan(event.entity.as_deref(), None, &[])).collect();
    Arrival {
        source: "github".into(),
        key: event.key,
        kind: event.kind,
        entity: event.entity,
        position: event.position,
        volatile: Vec::new(),
        coverage: Coverage::Body,
        secret: Some(0),
        received_us: wall_us(),
        headers: b"content-type: application/json\nx-github-event: push\n".to_vec(),
        fingerprint: [0; 32],
        body,
        jobs,
    }
}

async fn drain(config: &Config, jobs: usize) -> anyhow::Result<Drained> {
    let sink = Arc::new(Sink {
        wanted: jobs,
        first: OnceLock::new(),
        done: AtomicUsize::new(0),
        misplaced: AtomicUsize::new(0),
        lanes: Mutex::default(),
        all: Notify::new(),
    });
    let _app = library::start(config, Role::Worker, sink.clone()).await?;
    let all = tokio::time::timeout(LIMIT, sink.all.notified());
    all.await.with_context(|| format!("{} jobs in time", sink.done.load(Ordering::Relaxed)))?;
    let database = match &config.database {
        Configured::Sqlite(path) => Database::Sqlite(path.clone()),
        Configured::Postgres(url) => Database::Postgres(url.expose().to_owned()),
    };
    let mut ledger = database.connect().await;
    let first = sink.first.get().copied().context("the handler was never called")?;
    let mut attempts = 0;
    while attempts < jobs as i64 {
        if first.elapsed() > LIMIT {
            bail!("{attempts} attempts in time");
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        attempts = ledger.number("SELECT count(*) FROM attempts WHERE outcome = 'accepted'").await;
    }
    Ok(Drained {
        per_second: jobs as f64 / first.elapsed().as_secs_f64(),
        attempts,
        misplaced: sink.misplaced.load(Ordering::Relaxed),
    })
}

/// Fills and drains a queue in a process of its own.
pub fn measure(
    options: &Options,
    cluster: &Cluster,
    row: Row,
    concurrency: usize,
    waiting: usize,
) -> anyhow::Result<Drained> {
    let database = (row == Row::Postgres).then(|| cluster.database());
    let url = database.as_ref().map(|database| database.url.as_str());
    let numbers = [options.jobs, options.lanes, waiting].map(|number| number.to_string());
    let [jobs, lanes, long] = &numbers;
    let concurrency = concurrency.to_string();
    let environment = [("POSTHOUSE__WORKERS__CONCURRENCY", concurrency.as_str())];
    let server = Server::own(&["serve-drain", jobs, lanes, long], &environment, url)?;
    let line = server.finish(LIMIT * 3)?;
    let drained: Drained = serde_json::from_str(&line)?;
    eprintln!("{} drain, {concurrency} at once: {:.0}/s", row.name(), drained.per_second);
    Ok(drained)
}

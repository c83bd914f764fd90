//! Every SQL statement, in files named by what they do.
//!
//! The one place that knows databases. It decides nothing about deliveries: effects are decided
//! elsewhere and carried out here, each in one transaction.

mod alarms;
mod bind;
mod body;
mod bulk;
mod checkpoint;
mod circuit;
mod claim;
mod conn;
mod contended;
mod enter;
mod error;
mod forget;
mod group;
mod hold;
mod lanes;
mod limit;
mod listen;
mod new;
mod open;
mod operate;
mod orphans;
mod pause;
mod promote;
mod quarantine;
mod receipts;
mod record;
mod rejections;
mod reopen;
mod repeat;
mod replay;
mod resolve;
mod retain;
mod row;
mod settle;
mod sql;
mod sync;
mod view;
mod wake;

pub use alarms::{Alarm, Cause, Evidence, Heard, Oldest, Sent, Subject, Telling};
pub use bulk::DeadFilter;
pub use circuit::Trial;
pub use claim::{Claim, Claimed};
pub use error::StoreError;
pub use hold::Expired;
pub use limit::Limits;
pub use operate::Called;
pub use quarantine::{Quarantined, Refused};
pub use rejections::Refusals;
pub use replay::Replayed;
pub use resolve::{Doubt, Resolution};
pub use retain::{Ages, Pruned};
pub use settle::{Settled, Settlement};
pub use view::{
    AttemptView, Backlog, CircuitView, DeliveryFilter, DeliveryView, JobFilter, JobView,
    OperationView, Page, PauseView, QuarantineView, ReceiptView, RejectionView,
};
pub use wake::{Due, Wake};

use crate::clock::Clock;
use crate::delivery::{Arrival, DeliveryId, Recorded};
use crate::job::{JobId, State};
use bytes::Bytes;
use conn::Pools;
use group::{Bounds, Carried, Carry, Group, Turn, Waker};
use record::Incoming;
use std::sync::Arc;
use std::time::Duration;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `sqlite:PATH` or `postgres://..`.
    pub url: String,
    /// Connections for reading, or all but two of PostgreSQL's.
    pub connections: u32,
    /// Arrivals that may wait for the writer.
    pub queue_max: usize,
    /// Bytes of arrivals that may wait for the writer.
    pub queue_bytes: usize,
    /// Arrivals in one transaction.
    pub batch_max: usize,
}

/// Bytes of bodies in one transaction: beyond this the disk, not the commit, takes the time.
const BATCH_BYTES: usize = 4 << 20;

/// Settlements that may wait. Every one has been delivered already, so the bound is wide.
const SETTLEMENTS_WAITING: usize = 8192;

/// The ledger. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pools: Pools,
    clock: Clock,
    wake: Arc<Wake>,
    records: Group<Vec<Incoming>, Vec<Recorded>>,
    settlements: Group<Settlement, Settled>,
    paused: Arc<pause::PausedSources>,
}

/// Records the arrivals of batches of requests.
struct Recorder(Pools, Clock);

impl Carry<Vec<Incoming>, Vec<Recorded>> for Recorder {
    async fn carry(
        &self,
        requests: &[Vec<Incoming>],
        turn: &Turn,
    ) -> Result<Carried<Vec<Recorded>>, StoreError> {
        record::batch(&self.0, requests, turn, self.1.now_us()).await
    }
}

/// Settles batches of leases.
struct Settler(Pools, Clock);

impl Carry<Settlement, Settled> for Settler {
    async fn carry(
        &self,
        settlements: &[Settlement],
        turn: &Turn,
    ) -> Result<Carried<Settled>, StoreError> {
        settle::batch(&self.0, settlements, turn, self.1.now_us()).await
    }
}

impl Store {
    /// Opens the database and brings its schema up to date.
    pub async fn open(settings: &Settings, clock: Clock) -> Result<Self, StoreError> {
        let pools = open::open(&settings.url, settings.connections).await?;
        let wake = Arc::new(Wake::default());
        let bounds = Bounds {
            waiting: settings.queue_max,
            waiting_bytes: settings.queue_bytes,
            batch: settings.batch_max,
            batch_bytes: BATCH_BYTES,
        };
        let waker = Waker(wake.clone(), clock.clone());
        let recorder = Recorder(pools.clone(), clock.clone());
        let records = Group::start(bounds, waker.clone(), recorder);
        let bounds = Bounds { waiting: SETTLEMENTS_WAITING, ..bounds };
        let settler = Settler(pools.clone(), clock.clone());
        let settlements = Group::start(bounds, waker, settler);
        match &pools {
            Pools::Sqlite { writer, path, .. } => {
                tokio::spawn(checkpoint::run(writer.clone(), path.clone()));
            }
            Pools::Postgres { pool, .. } => {
                tokio::spawn(listen::run(pool.clone(), wake.clone(), clock.clone()));
            }
        }
        Ok(Self { pools, clock, wake, records, settlements, paused: Arc::default() })
    }

    /// Wake-ups for whoever claims.
    pub fn wake(&self) -> &Arc<Wake> {
        &self.wake
    }

    /// The ledger's time.
    pub fn now_us(&self) -> crate::delivery::Micros {
        self.clock.now_us()
    }

    /// `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        match self.pools {
            Pools::Sqlite { .. } => "sqlite",
            Pools::Postgres { .. } => "postgres",
        }
    }

    /// Records an arrival durably, together with others that arrive meanwhile.
    pub async fn record(&self, arrival: Arrival) -> Result<Recorded, StoreError> {
        let recorded = self.record_all(vec![arrival]).await?.pop();
        recorded.ok_or_else(|| StoreError::Refused("no result".into()))
    }

    /// Records the arrivals of one request durably, all of them or none. The answers are in their
    /// order.
    pub async fn record_all(&self, arrivals: Vec<Arrival>) -> Result<Vec<Recorded>, StoreError> {
        if arrivals.is_empty() {
            return Ok(Vec::new());
        }
        let cost = |arrival: &Arrival| arrival.body.len() + arrival.headers.len() + 512;
        let cost = arrivals.iter().map(cost).sum();
        let incoming = arrivals.into_iter().map(|arrival| {
            let stored = body::pack(&arrival.body);
            Incoming { arrival, stored }
        });
        self.records.put(incoming.collect(), cost).await
    }

    /// Claims jobs that may run now.
    pub async fn claim(&self, wanted: &Claim) -> Result<Claimed, StoreError> {
        claim::claim(&self.pools, wanted, self.clock.now_us()).await
    }

    /// Prolongs leases by `lease` from now; returns the jobs still held.
    pub async fn extend(
        &self,
        held: &[(JobId, i64)],
        lease: Duration,
    ) -> Result<Vec<JobId>, StoreError> {
        let until_us = self.clock.now_us() + i64::try_from(lease.as_micros()).unwrap_or(i64::MAX);
        hold::extend(&self.pools, held, until_us).await
    }

    /// Commits an attempt and its effect, if the lease still holds.
    pub async fn settle(&self, settlement: Settlement) -> Result<Settled, StoreError> {
        let cost = settlement.attempt.outcome.excerpt.len() + 512;
        self.settlements.put(settlement, cost).await
    }

    /// The body of a delivery; `None` when there is no such delivery or it is forgotten.
    pub async fn body(&self, id: DeliveryId) -> Result<Option<Bytes>, StoreError> {
        view::body(&self.pools, id).await
    }

    /// Running jobs whose lease has ended.
    pub async fn expired(&self, count: i64) -> Result<Vec<Expired>, StoreError> {
        hold::expired(&self.pools, self.clock.now_us(), count).await
    }

    /// Waits until nobody uses the database any more and closes it.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, readers, .. } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres { pool, lazy, .. } => {
                lazy.close().await;
                pool.close().await;
            }
        }
    }
}

/// Reads a state back.
fn state(word: &str) -> Result<State, StoreError> {
    word.parse().map_err(|error: crate::delivery::NotAnId| StoreError::Refused(error.to_string()))
}

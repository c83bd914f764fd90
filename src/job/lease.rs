//! What a worker holds: the right to settle one attempt, and what is to be delivered.

use super::{JobId, LaneId};
use crate::delivery::{DeliveryId, KeptHeaders, Micros};
use bytes::Bytes;
use std::sync::Arc;

/// The right to settle one attempt of a job. The token fences: whoever claims the job next gets
/// a higher one, and only the holder of the current one can write.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// Its route.
    pub route: Arc<str>,
    /// Its lane.
    pub lane: Option<LaneId>,
    /// Which attempt this is, from 1.
    pub attempt: i64,
    /// Attempts since the job was made or last opened again, this one included.
    pub tries: i64,
    /// The fencing token.
    pub token: i64,
    /// When the job was made or last opened again: its age counts from here.
    pub since_us: Micros,
    /// What the lane is about; `None` without a lane.
    pub entity: Option<String>,
    /// Number in the lane, without gaps; `None` without a lane.
    pub sequence: Option<i64>,
    /// Where the sender says that the event stands in its lane; unknown is `None`.
    pub position: Option<i64>,
    /// A later event of the lane was processed before this one.
    pub stale: bool,
    /// 0 for live jobs, 1 for replays and jobs retried in bulk.
    pub rank: i64,
    /// Set when the job replays another: a fresh random text.
    pub nonce: Option<String>,
    /// When this attempt was claimed.
    pub claimed_us: Micros,
    /// What is to be delivered.
    pub delivery: Arc<Parcel>,
}

/// What a destination gets to see of a delivery.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// Its number in the ledger.
    pub id: DeliveryId,
    /// The source's name.
    pub source: String,
    /// The provider's id of the delivery.
    pub key: String,
    /// What happened.
    pub kind: String,
    /// What it is about.
    pub entity: Option<String>,
    /// When it happened, if the provider says.
    pub occurred_us: Option<Micros>,
    /// When it was received.
    pub received_us: Micros,
    /// The kept headers.
    pub headers: KeptHeaders,
    /// Bytes of body, as received.
    pub body_bytes: i64,
    /// Retention has forgotten the body.
    pub forgotten: bool,
    /// The body, byte for byte. `None` when forgotten, or too large to come with a lease.
    pub body: Option<Bytes>,
}

impl Lease {
    /// A lease of no attempt, for what depends on names alone.
    pub fn nameless(job: JobId, route: Arc<str>, parcel: Parcel) -> Self {
        Self {
            job,
            route,
            lane: None,
            attempt: 0,
            tries: 0,
            token: 0,
            since_us: 0,
            entity: None,
            sequence: None,
            position: None,
            stale: false,
            rank: 0,
            nonce: None,
            claimed_us: 0,
            delivery: Arc::new(parcel),
        }
    }
}

impl Parcel {
    /// A parcel of which only the number is known: for settling in the place of a lost worker.
    pub fn nameless(id: DeliveryId) -> Self {
        Self {
            id,
            source: String::new(),
            key: String::new(),
            kind: String::new(),
            entity: None,
            occurred_us: None,
            received_us: 0,
            headers: KeptHeaders::default(),
            body_bytes: 0,
            forgotten: false,
            body: None,
        }
    }
}

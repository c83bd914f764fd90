//! The noun `job`: one delivery for one route, the unit of work in the durable queue.
//!
//! Its numbers, its state machine, the lease on it and the outcome of an attempt. Nothing here
//! does I/O.

mod id;
mod lease;
mod outcome;
mod state;

pub use id::{JobId, LaneId};
pub use lease::{Lease, Parcel};
pub use outcome::{Attempt, Class, Effect, Fault, Outcome, Value, Write};
pub use state::State;

use std::sync::Arc;

/// A job to be made when its delivery is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The route's name.
    pub route: Arc<str>,
    /// Its place among others; `None` where order does not matter.
    pub lane: Option<Lane>,
}

/// The lane that a job belongs to, and what its route wants of the lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Its number.
    pub id: LaneId,
    /// What it is about.
    pub entity: String,
    /// Jobs wait in the order of their positions, not of their arrival.
    pub by_position: bool,
    /// A job whose event is older than one that was processed is superseded.
    pub latest: bool,
    /// How long a job waits for earlier ones, in microseconds.
    pub hold_us: i64,
}

impl Lane {
    /// A lane in order of arrival.
    pub fn of_arrival(route: &str, entity: &str) -> Self {
        let (id, entity) = (LaneId::new(route, entity), entity.to_owned());
        Self { id, entity, by_position: false, latest: false, hold_us: 0 }
    }
}

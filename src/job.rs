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
pub use outcome::{Attempt, Class, Effect, Outcome, Value, Write};
pub use state::State;

use std::sync::Arc;

/// A job to be made when its delivery is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The route's name.
    pub route: Arc<str>,
    /// Its lane; `None` where order does not matter.
    pub lane: Option<LaneId>,
}

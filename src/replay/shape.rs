//! What can be asked of a replay, and what it tells. Nothing here does anything.

use crate::clock::Time;
use crate::delivery::DeliveryId;
use crate::job::{JobId, State};
use serde::{Deserialize, Serialize};

/// What to replay: ids or a filter, not both.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayRequest {
    /// Deliveries by id.
    pub deliveries: Vec<DeliveryId>,
    /// Deliveries by what they are. An empty filter means every delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<ReplayFilter>,
    /// Only jobs of this route. A delivery that had none gets its first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Jobs a second. Deliveries that are named start at once unless this is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// Only says what would be done.
    pub dry_run: bool,
}

/// Which deliveries to replay.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayFilter {
    /// The source's name.
    pub source: String,
    /// The kind; a final `*` stands for anything.
    pub kind: String,
    /// The state of the job to replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Received at or after, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Received before, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// What was done, or would be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Nothing was done, as asked.
    pub dry_run: bool,
    /// The new jobs; without ids in a dry run.
    pub replayed: Vec<ReplayedJob>,
    /// Jobs left alone: not finished, replayed meanwhile, or without their body.
    pub skipped: Vec<Skipped>,
}

/// A job that was replayed, or would be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayedJob {
    /// The delivery.
    pub delivery: DeliveryId,
    /// The route.
    pub route: String,
    /// The job that is replayed, if the route had one.
    pub replays: Option<JobId>,
    /// The new job.
    pub job: Option<JobId>,
}

/// A job that was left alone, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Skipped {
    /// The delivery.
    pub delivery: DeliveryId,
    /// The route; empty when the delivery as a whole was left alone.
    pub route: String,
    /// Why.
    pub reason: String,
}

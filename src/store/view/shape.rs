//! The shapes of what is shown, and of the questions.

use crate::clock::Time;
use crate::delivery::{DeliveryId, Micros};
use crate::job::{Fault, JobId, State};
use serde::Serialize;

/// Which deliveries to list. Empty texts mean any.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// The source's name.
    pub source: String,
    /// The kind; a final `*` stands for anything.
    pub kind: String,
    /// The dedup key, exactly.
    pub key: String,
    /// A state that one of its jobs has.
    pub state: Option<State>,
    /// A route that one of its jobs belongs to.
    pub route: String,
    /// Received at or after.
    pub since_us: Option<Micros>,
    /// Received before.
    pub until_us: Option<Micros>,
    /// Only older than this delivery: the cursor.
    pub before: Option<DeliveryId>,
    /// At most so many.
    pub count: i64,
}

/// Which jobs to list. Empty texts mean any.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// The route's name.
    pub route: String,
    /// The state.
    pub state: Option<State>,
    /// Whose fault it is that the job died or is uncertain.
    pub fault: Option<Fault>,
    /// Only older than this job: the cursor.
    pub before: Option<JobId>,
    /// At most so many.
    pub count: i64,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// Give this as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A delivery as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct DeliveryView {
    pub id: DeliveryId,
    pub source: String,
    pub key: String,
    pub kind: String,
    pub entity: Option<String>,
    pub state: Option<State>,
    pub received_at: Time,
    pub received_from: Option<String>,
    pub occurred_at: Option<Time>,
    pub position: Option<i64>,
    pub coverage: String,
    pub secret: Option<i64>,
    pub fingerprint: String,
    pub repeats: i64,
    pub conflicts: i64,
    pub repeated_at: Option<Time>,
    pub body_bytes: i64,
    pub body_kept: bool,
    pub headers: Vec<(String, String)>,
}

/// A later receipt of a delivery as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct ReceiptView {
    pub at: Time,
    pub from: String,
    pub said: String,
}

/// A job as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct JobView {
    pub id: JobId,
    pub delivery: DeliveryId,
    pub source: String,
    pub key: String,
    pub kind: String,
    pub route: String,
    pub entity: Option<String>,
    pub state: State,
    #[serde(rename = "attempt_count")]
    pub attempts: i64,
    pub sequence: Option<i64>,
    pub due_at: Option<Time>,
    pub lease_until: Option<Time>,
    pub worker: Option<String>,
    pub created_at: Time,
    pub settled_at: Option<Time>,
    pub reason: Option<String>,
    pub fault: Option<String>,
    pub position: Option<i64>,
    pub stale: bool,
    pub superseded_by: Option<JobId>,
    pub asked_again_at: Option<Time>,
    pub replays: Option<JobId>,
    pub halts_lane: bool,
}

/// An attempt as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct AttemptView {
    pub job: JobId,
    pub attempt: i64,
    pub outcome: String,
    pub status: Option<i64>,
    pub started_at: Time,
    pub ended_at: Time,
    pub worker: String,
    pub detail: String,
    pub answer: String,
}

/// Refused requests as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct RejectionView {
    pub source: String,
    pub reason: String,
    pub count: i64,
    pub first_at: Time,
    pub last_at: Time,
    pub detail: String,
}

/// A refused request as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct QuarantineView {
    pub id: String,
    pub source: String,
    pub received_at: Time,
    pub reason: String,
    pub detail: String,
    pub cause: Option<String>,
    pub likely: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body_bytes: i64,
    pub body_kept: bool,
}

/// Something paused as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct PauseView {
    pub scope: String,
    pub name: String,
    pub reason: String,
    pub since: Time,
}

/// A circuit that is not closed, as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct CircuitView {
    #[serde(skip)]
    pub destination: String,
    pub state: String,
    pub since: Time,
    pub until: Time,
    pub opens: i64,
    pub reason: String,
}

/// What an operator did, as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct OperationView {
    pub at: Time,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

/// How much there is to do.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// Jobs by state, for the states that are not the end, and dead.
    pub jobs: Vec<(State, i64)>,
    /// When the oldest job that could run now became due.
    pub oldest_due_us: Option<Micros>,
    /// Lanes that stand still behind a dead job.
    pub halted_lanes: i64,
}

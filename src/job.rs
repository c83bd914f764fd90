//! The noun `job`: one delivery for one route, the unit of work in the durable queue.
//!
//! The legal moves of its state machine stand here, beside the type. Nothing here does I/O.

use crate::delivery::{DeliveryId, KeptHeaders, Micros, NotAnId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The number of a job: its delivery and which of the delivery's jobs it is.
///
/// Both live in one integer (`delivery * 4096 + n`), so that the jobs of a delivery are found by
/// the primary key alone: a second index on the hottest table costs 5 to 10 us a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct JobId(pub i64);

impl JobId {
    /// Jobs that one delivery can have over its life, replays included.
    pub const PER_DELIVERY: i64 = 4096;
    /// The highest delivery number that still fits.
    pub const DELIVERY_MAX: i64 = i64::MAX / Self::PER_DELIVERY - 1;

    /// The `n`-th job of a delivery.
    pub fn new(delivery: DeliveryId, n: i64) -> Self {
        debug_assert!((0..Self::PER_DELIVERY).contains(&n));
        Self(delivery.0 * Self::PER_DELIVERY + n)
    }

    /// The delivery it belongs to.
    pub fn delivery(self) -> DeliveryId {
        DeliveryId(self.0 / Self::PER_DELIVERY)
    }

    /// Which of its delivery's jobs it is.
    pub fn n(self) -> i64 {
        self.0 % Self::PER_DELIVERY
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.delivery(), self.n())
    }
}

impl FromStr for JobId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let parse = || {
            let (delivery, n) = text.split_once('-')?;
            let n = n.parse().ok().filter(|n| (0..Self::PER_DELIVERY).contains(n))?;
            Some(Self::new(delivery.parse().ok()?, n))
        };
        parse().ok_or_else(|| NotAnId(text.into(), "a job id, such as 1042-0"))
    }
}

impl TryFrom<String> for JobId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.to_string()
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Behind another job of its lane.
    Waiting,
    /// The head of its lane, or without a lane: may be claimed.
    Ready,
    /// Leased to a worker.
    Running,
    /// Failed before; ready again when it is due. Still the head of its lane.
    Retrying,
    /// Accepted by its destination.
    Succeeded,
    /// Given up, with the reason.
    Dead,
    /// Nobody knows whether its effect happened, and it may not be repeated.
    Uncertain,
    /// A later event about the same entity made it pointless.
    Superseded,
    /// Called off by an operator.
    Cancelled,
}

impl State {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 9] = [
        Self::Waiting,
        Self::Ready,
        Self::Running,
        Self::Retrying,
        Self::Succeeded,
        Self::Dead,
        Self::Uncertain,
        Self::Superseded,
        Self::Cancelled,
    ];

    /// The word used in the store, in answers, logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Uncertain => "uncertain",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
        }
    }

    /// The states that a job may move to. A dead or uncertain job comes back by an operator's
    /// retry or, when dead, by a redelivery of the provider.
    pub fn moves(self) -> &'static [Self] {
        use State::{Cancelled, Dead, Ready, Retrying, Running, Succeeded, Superseded};
        use State::{Uncertain, Waiting};
        match self {
            Self::Waiting => &[Ready, Superseded, Cancelled],
            Self::Ready => &[Running, Waiting, Superseded, Cancelled],
            Self::Running => &[Succeeded, Retrying, Dead, Uncertain, Superseded, Cancelled],
            Self::Retrying => &[Running, Dead, Cancelled],
            Self::Dead | Self::Uncertain => &[Ready, Waiting, Cancelled],
            Self::Succeeded | Self::Superseded | Self::Cancelled => &[],
        }
    }

    /// Whether work is still to be done: such a job is never pruned.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Running | Self::Retrying)
    }

    /// One state for the jobs of a delivery: what is still at work before what went wrong before
    /// what is done.
    pub fn summary(states: impl IntoIterator<Item = Self>) -> Option<Self> {
        const URGENCY: [State; 9] = [
            State::Running,
            State::Retrying,
            State::Ready,
            State::Waiting,
            State::Uncertain,
            State::Dead,
            State::Cancelled,
            State::Superseded,
            State::Succeeded,
        ];
        let rank = |state: &Self| URGENCY.iter().position(|candidate| candidate == state);
        states.into_iter().min_by_key(rank)
    }
}

impl FromStr for State {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let found = Self::ALL.into_iter().find(|state| state.word() == text);
        found.ok_or_else(|| NotAnId(text.into(), "a state of a job"))
    }
}

/// A lane's number: the first eight bytes of SHA-256 over route and entity.
///
/// Two entities that collided would merely take turns; order and safety do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub i64);

impl LaneId {
    /// The lane of an entity on a route.
    pub fn new(route: &str, entity: &str) -> Self {
        let digest = Sha256::new().chain_update(route).chain_update([0]).chain_update(entity);
        let digest: [u8; 32] = digest.finalize().into();
        let mut head = [0; 8];
        head.copy_from_slice(&digest[..8]);
        Self(i64::from_be_bytes(head))
    }
}

/// A job to be made when its delivery is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The route's name.
    pub route: Arc<str>,
    /// Its lane; `None` where order does not matter.
    pub lane: Option<LaneId>,
}

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
    /// Number in the lane, without gaps; `None` without a lane.
    pub sequence: Option<i64>,
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

/// What happened out there.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The class that decides what follows.
    pub class: Class,
    /// The destination's status: HTTP status or exit code.
    pub status: Option<i64>,
    /// One line for the operator. Never a body, a header or a secret.
    pub detail: String,
    /// The start of what the destination answered, bounded.
    pub excerpt: Vec<u8>,
    /// Writes of a local handler, committed by the settle or not at all.
    pub writes: Vec<Write>,
}

/// Classes of outcome, as far as what follows differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// Done.
    Accepted,
    /// Will not get better by trying again.
    Refused,
    /// Refused for good, and so will everything else be on this route.
    Gone,
    /// May get better. The destination may have named the earliest next try.
    Failed {
        /// Milliseconds that the destination asked to wait.
        retry_after_ms: Option<u64>,
    },
    /// The request was sent and nobody knows what became of it.
    Unknown,
}

impl Class {
    /// The word used in the store and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Gone => "gone",
            Self::Failed { .. } => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl Outcome {
    /// An outcome with a class and a line of text.
    pub fn new(class: Class, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { class, status: None, detail, excerpt: Vec::new(), writes: Vec::new() }
    }
}

/// One statement that a local handler wants committed together with the settle of its job.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// SQL with `$1` placeholders.
    pub sql: String,
    /// The values of the placeholders.
    pub values: Vec<Value>,
}

/// A value of a [`Write`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// What to commit because of an outcome; made by `decide`, carried out by the settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The job succeeded; its lane goes on.
    Succeed,
    /// Another try, not before `due_us`; the job stays the head of its lane.
    Retry {
        /// When it may be claimed again.
        due_us: Micros,
    },
    /// Given up for the reason in the outcome.
    Die {
        /// Its lane stands still until the job is retried or cancelled.
        halt_lane: bool,
        /// The route takes no more jobs until it is resumed.
        pause_route: bool,
    },
}

/// One try of a job, as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// When the destination was called.
    pub started_us: Micros,
    /// When the outcome was known.
    pub ended_us: Micros,
    /// The worker process.
    pub worker: Arc<str>,
    /// What came of it.
    pub outcome: Outcome,
}

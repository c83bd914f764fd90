//! What came of an attempt, and what is to be committed because of it.

use crate::delivery::Micros;
use std::sync::Arc;

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

//! What came of an attempt, and what is to be committed because of it.

use crate::delivery::{Micros, NotAnId};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;

/// What happened out there.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The class that decides what follows.
    pub class: Class,
    /// Whose fault it is, if it is no success.
    pub fault: Fault,
    /// The destination's status: HTTP status or exit code.
    pub status: Option<i64>,
    /// Milliseconds that the destination asked to wait before the next try.
    pub retry_after_ms: Option<u64>,
    /// One line for the operator. Never a body, a header or a secret.
    pub detail: String,
    /// The start of what the destination answered, bounded.
    pub excerpt: Vec<u8>,
    /// Writes of a local handler, committed by the settle or not at all.
    pub writes: Vec<Write>,
}

/// Classes of outcome, as far as what follows differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Done.
    Accepted,
    /// Will not get better by trying again.
    Refused,
    /// Refused for good, and so will everything else be on this route.
    Gone,
    /// It answered that it failed; may get better.
    Failed,
    /// Failed before any effect was possible: no connection came about.
    Unreached,
    /// The request was sent and nobody knows what became of it.
    Uncertain,
}

impl Class {
    /// The word used in the store and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Gone => "gone",
            Self::Failed => "failed",
            Self::Unreached => "unreached",
            Self::Uncertain => "uncertain",
        }
    }
}

/// Whose fault it is that a job did not succeed: who has to look into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The destination answered and did not take it.
    Refused,
    /// The destination could not be reached, or did not answer.
    Unreachable,
    /// The code that was to process the payload broke: a handler or a command.
    Handler,
    /// Posthouse itself, or its configuration.
    Posthouse,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 4] = [Self::Refused, Self::Unreachable, Self::Handler, Self::Posthouse];

    /// The word used in the store, in answers and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Handler => "handler",
            Self::Posthouse => "posthouse",
        }
    }
}

impl FromStr for Fault {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let found = Self::ALL.into_iter().find(|fault| fault.word() == text);
        found.ok_or_else(|| NotAnId(text.into(), "a fault"))
    }
}

impl Outcome {
    /// An outcome with a class and a line of text. The fault is the destination's.
    pub fn new(class: Class, detail: impl Into<String>) -> Self {
        let fault = match class {
            Class::Unreached | Class::Uncertain => Fault::Unreachable,
            _ => Fault::Refused,
        };
        Self {
            class,
            fault,
            status: None,
            retry_after_ms: None,
            detail: detail.into(),
            excerpt: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The same outcome with another one to blame.
    pub fn blaming(self, fault: Fault) -> Self {
        Self { fault, ..self }
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
    /// Nobody knows whether it happened, and it may not be repeated.
    Doubt {
        /// Its lane stands still until the doubt is resolved.
        halt_lane: bool,
        /// When to ask the destination whether it happened; `None` if only people can tell.
        probe_us: Option<Micros>,
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

//! The noun `delivery`: one event received from a source, immutable once recorded.
//!
//! Nothing here does I/O. An [`Arrival`] is what has been proved and read but not stored yet;
//! a [`Recorded`] is what the store made of it.

use crate::job::{JobId, Planned, State};
use bytes::Bytes;
use providers::{Coverage, Position};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Microseconds since 1970: the unit of every time in the store.
pub type Micros = i64;

/// The number of a delivery in the ledger. Grows with arrival; a number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DeliveryId(pub i64);

impl fmt::Display for DeliveryId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// A text that is not an id of ours.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not {1}")]
pub struct NotAnId(pub String, pub &'static str);

impl FromStr for DeliveryId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.parse() {
            Ok(number) if (0..=JobId::DELIVERY_MAX).contains(&number) => Ok(Self(number)),
            _ => Err(NotAnId(text.into(), "a delivery id, such as 1042")),
        }
    }
}

impl TryFrom<String> for DeliveryId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<DeliveryId> for String {
    fn from(id: DeliveryId) -> Self {
        id.to_string()
    }
}

/// Header lines kept with a delivery: names lower case, values byte for byte.
///
/// Stored as `name: value` lines; a value can hold no line end, so nothing needs escaping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptHeaders(pub Vec<(String, Vec<u8>)>);

impl KeptHeaders {
    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut lines = Vec::with_capacity(self.0.len() * 48);
        for (name, value) in &self.0 {
            Self::write_line(&mut lines, name, value);
        }
        lines
    }

    /// Adds a line to the stored form.
    pub fn write_line(lines: &mut Vec<u8>, name: &str, value: &[u8]) {
        lines.extend_from_slice(name.as_bytes());
        lines.extend_from_slice(b": ");
        lines.extend_from_slice(value);
        lines.push(b'\n');
    }

    /// Reads the stored form back.
    pub fn from_bytes(lines: &[u8]) -> Self {
        let split = |line: &[u8]| {
            let at = line.windows(2).position(|pair| pair == b": ")?;
            let name = String::from_utf8_lossy(&line[..at]).into_owned();
            Some((name, line[at + 2..].to_vec()))
        };
        Self(lines.split(|byte| *byte == b'\n').filter_map(split).collect())
    }

    /// The first value of a header, by its lower-case name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value.as_slice())
    }
}

/// Something proved and read, on its way into the ledger.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The source's name.
    pub source: Arc<str>,
    /// The dedup key within the source.
    pub key: String,
    /// What happened, such as `push`.
    pub kind: String,
    /// What it is about.
    pub entity: Option<String>,
    /// Its place among the events about that entity.
    pub position: Position,
    /// Body fields left out when two bodies under one key are compared.
    pub volatile: Vec<String>,
    /// What the signature covered.
    pub coverage: Coverage,
    /// Which of the source's secrets matched, from 0; `None` where none was needed.
    pub secret: Option<usize>,
    /// When the request was complete.
    pub received_us: Micros,
    /// Headers to keep, in their stored form; [`PEER`] among them, if it is known.
    pub headers: Vec<u8>,
    /// SHA-256 of the event's bytes.
    pub fingerprint: [u8; 32],
    /// The event's bytes.
    pub body: Bytes,
    /// One job for each matching route.
    pub jobs: Vec<Planned>,
}

/// What recording an arrival came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// New: stored with its jobs.
    Accepted,
    /// Seen before with the same content.
    Duplicate,
    /// A duplicate of a delivery whose jobs were dead; they are back in the queue.
    Revived,
    /// Seen before with other content. The first one stands.
    Conflict,
}

impl Verdict {
    /// The word used in answers, logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Revived => "revived",
            Self::Conflict => "conflict",
        }
    }
}

/// A delivery in the ledger and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number; for a repeat, the number of the first one.
    pub id: DeliveryId,
    /// What this arrival was.
    pub verdict: Verdict,
    /// The state of its jobs taken together; `None` when no route matched.
    pub state: Option<State>,
    /// When the first one was received, if this is a repeat.
    pub first_us: Option<Micros>,
}

/// The line of the kept headers that says where the first request came from.
pub const PEER: &str = "posthouse-peer";

/// The name of what a proof covered, as stored and shown.
pub fn coverage_word(coverage: Coverage) -> &'static str {
    match coverage {
        Coverage::Body => "body",
        Coverage::Sender => "sender",
        Coverage::Nothing => "nothing",
    }
}

//! The state machine of a job: its states and the legal moves between them.

use crate::delivery::NotAnId;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

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

    /// The states that a job may move to. A dead job comes back by an operator's retry or by a
    /// redelivery of the provider; an uncertain one moves when its doubt is resolved.
    pub fn moves(self) -> &'static [Self] {
        use State::{Cancelled, Dead, Ready, Retrying, Running, Succeeded, Superseded};
        use State::{Uncertain, Waiting};
        match self {
            Self::Waiting => &[Ready, Superseded, Cancelled],
            Self::Ready => &[Running, Waiting, Cancelled],
            Self::Running => &[Succeeded, Retrying, Dead, Uncertain, Cancelled],
            Self::Retrying => &[Running, Cancelled],
            Self::Dead => &[Ready, Waiting, Superseded, Cancelled],
            Self::Uncertain => &[Ready, Waiting, Succeeded, Dead, Superseded, Cancelled],
            Self::Succeeded | Self::Superseded | Self::Cancelled => &[],
        }
    }

    /// Whether work is still to be done: such a job is never pruned.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Running | Self::Retrying)
    }

    /// Every state, the most urgent first: what is still at work before what went wrong before
    /// what is done.
    pub const URGENCY: [Self; 9] = [
        Self::Running,
        Self::Retrying,
        Self::Ready,
        Self::Waiting,
        Self::Uncertain,
        Self::Dead,
        Self::Cancelled,
        Self::Superseded,
        Self::Succeeded,
    ];

    /// One state for the jobs of a delivery: the most urgent one.
    pub fn summary(states: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rank = |state: &Self| Self::URGENCY.iter().position(|candidate| candidate == state);
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

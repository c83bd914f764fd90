//! What an operator can stop and let go on: a source, a route, a destination, a lane.

use crate::delivery::NotAnId;
use crate::job::LaneId;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What kind of thing is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Senders are asked to come back later; what was received goes on.
    Source,
    /// Its jobs stay where they are; receiving goes on.
    Route,
    /// The jobs of all its routes stay where they are.
    Destination,
    /// The jobs about one entity on one route stay where they are.
    Lane,
}

impl Scope {
    /// The word used in the store and in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Route => "route",
            Self::Destination => "destination",
            Self::Lane => "lane",
        }
    }
}

impl FromStr for Scope {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let all = [Self::Source, Self::Route, Self::Destination, Self::Lane];
        let found = all.into_iter().find(|scope| scope.word() == text);
        found.ok_or_else(|| NotAnId(text.into(), "source, route, destination or lane"))
    }
}

/// One thing that is or can be paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What kind of thing.
    pub scope: Scope,
    /// Its name; of a lane the route's name, a slash and the entity.
    pub name: String,
}

impl Stop {
    /// A thing by its name.
    pub fn new(scope: Scope, name: &str) -> Self {
        Self { scope, name: name.to_owned() }
    }

    /// The lane that it is; `None` if it is no lane, or no name of one.
    pub fn lane(&self) -> Option<LaneId> {
        let (route, entity) = self.name.split_once('/').filter(|_| self.scope == Scope::Lane)?;
        Some(LaneId::new(route, entity))
    }
}

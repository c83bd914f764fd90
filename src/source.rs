//! The nouns of configuration: sources, destinations and routes, checked and ready to use.
//!
//! `config` makes them; everything else reads them. Nothing here does I/O.

use crate::job::{LaneId, Planned};
use providers::{Event, Provider, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An endpoint `/hooks/{name}`.
pub struct Source {
    /// Its name, as in the path.
    pub name: Arc<str>,
    /// Who sends.
    pub provider: &'static dyn Provider,
    /// Any of these may sign. Empty only when `unsigned`.
    pub secrets: Vec<Secret>,
    /// Accepts anyone, because the configuration says so.
    pub unsigned: bool,
    /// Answers as if it did not exist.
    pub disabled: bool,
    /// Larger bodies are refused with 413.
    pub body_bytes_max: usize,
    /// Seconds that a signed timestamp may lie off, both ways.
    pub tolerance_s: i64,
    /// The URL that the provider was given, for schemes that sign it.
    pub public_url: Option<String>,
    /// Deliveries a second; more are refused with 429 once they are proved.
    pub rate_per_s: Option<u32>,
    /// How long its dedup keys live.
    pub keep_keys: Duration,
}

/// From a source to a destination.
#[derive(Debug)]
pub struct Route {
    /// Its name.
    pub name: Arc<str>,
    /// The source's name.
    pub source: Arc<str>,
    /// The destination's name.
    pub destination: Arc<str>,
    /// Patterns over the kind, such as `pull_request.*`; `*` matches any run of characters.
    pub events: Vec<String>,
    /// Which jobs of the route wait for one another.
    pub order: Order,
    /// When to try again and when to stop.
    pub retry: Retry,
    /// What a dead job means for its lane.
    pub on_dead: OnDead,
}

/// Order among the jobs of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// No lanes.
    None,
    /// One lane an entity, in order of arrival.
    Arrival,
}

/// What happens to a lane whose head died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDead {
    /// The next job of the lane runs.
    Continue,
    /// The lane stands still until the dead job is retried or cancelled.
    Halt,
}

/// The schedule of further tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Tries in all, the first one included.
    pub max_attempts: i64,
    /// No try later than this after the job was made.
    pub max_age: Duration,
    /// The upper bound of the first wait.
    pub base: Duration,
    /// No wait is longer, `Retry-After` included.
    pub cap: Duration,
}

/// Where jobs go.
#[derive(Clone, Debug)]
pub enum Destination {
    /// An HTTP endpoint.
    Http(HttpDestination),
    /// A program that gets the body on its standard input.
    Command(CommandDestination),
    /// One line in the log for every delivery.
    Log,
    /// Code in this process, registered under the destination's name.
    Handler,
}

/// An HTTP endpoint.
#[derive(Clone, Debug)]
pub struct HttpDestination {
    /// Where to send.
    pub url: url::Url,
    /// Further headers, such as `Authorization`; their values are secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Time to connect, name resolution and TLS included.
    pub connect_timeout: Duration,
    /// Time for the whole attempt.
    pub timeout: Duration,
    /// Private, loopback and link-local addresses may be called.
    pub allow_private: bool,
    /// Signs what is sent by Standard Webhooks.
    pub sign_with: Option<Secret>,
}

/// A program.
#[derive(Clone, Debug)]
pub struct CommandDestination {
    /// The program and its arguments; never a shell line.
    pub argv: Vec<String>,
    /// After this the whole process group is killed.
    pub timeout: Duration,
}

impl Route {
    /// Whether a kind of event is for this route.
    pub fn matches(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| glob(pattern, kind))
    }

    /// The job that this route makes of an event.
    pub fn plan(&self, event: &Event) -> Planned {
        let lane = match (self.order, &event.entity) {
            (Order::Arrival, Some(entity)) => Some(LaneId::new(&self.name, entity)),
            _ => None,
        };
        Planned { route: self.name.clone(), lane }
    }
}

/// `*` stands for any run of characters, everything else for itself.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            rest.is_empty()
                || (0..=tail.len()).any(|at| tail.is_char_boundary(at) && glob(rest, &tail[at..]))
        }),
    }
}

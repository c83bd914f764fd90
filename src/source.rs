//! The nouns of configuration: sources, destinations and routes, checked and ready to use.
//!
//! `config` makes them; everything else reads them. Nothing here does I/O.

mod destination;
mod order;
mod rate;
mod retry;
mod stop;

pub use destination::{
    Accept, Circuit, CommandDestination, Destination, HttpDestination, Reconcile, Target,
};
pub use order::{Order, OrderBy};
pub use rate::Rate;
pub use retry::{Retry, Statuses};
pub use stop::{Scope, Stop};

use crate::job::{Lane, Planned};
use providers::{Provider, Secret};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An endpoint `/hooks/{name}`.
#[derive(Clone)]
pub struct Source {
    /// Its name, as in the path.
    pub name: Arc<str>,
    /// Who sends.
    pub provider: &'static dyn Provider,
    /// Any of these may sign. Empty only when `unsigned` or `pending`.
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
    /// How long it may send nothing before there is an alarm; `None`: what is usual for it.
    pub silent_after: Option<Duration>,
    /// The events of a batch become deliveries of their own.
    pub split: bool,
    /// What the sender shows when it registers the URL.
    pub verify_token: Option<Secret>,
    /// The sender may hand over its secret now.
    pub pending: bool,
    /// Confirms what the sender asks to be confirmed by a visit to its link.
    pub confirm: bool,
    /// Where a secret that the sender hands over is kept.
    pub handed_path: PathBuf,
    /// Keys that the sender keeps elsewhere and that are never fetched, by URL.
    pub keys: BTreeMap<String, Secret>,
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
    /// What the lanes are about, if not what the provider says.
    pub order_by: Option<OrderBy>,
    /// How long a job waits for earlier ones; nothing unless the order is by position.
    pub hold: Duration,
    /// When to try again and when to stop.
    pub retry: Retry,
    /// What a dead job means for its lane.
    pub on_dead: OnDead,
    /// What an uncertain job means for its lane.
    pub on_uncertain: OnDead,
    /// The destination recognises a repeat, so an uncertain attempt may be repeated.
    pub idempotent: bool,
    /// The destination can be asked whether an uncertain attempt happened.
    pub reconciles: bool,
    /// All routes of the destination, this one too, if it bounds what runs at once: a job that ends
    /// lets one of theirs run.
    pub frees: Arc<[Arc<str>]>,
}

/// What happens to a lane whose head died or is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDead {
    /// The next job of the lane runs.
    Continue,
    /// The lane stands still until an operator has decided about the job.
    Halt,
}

impl Source {
    /// The URL that the provider was given, with the query of a target as received.
    pub fn url(&self, target: &str) -> Cow<'_, str> {
        let url = self.public_url.as_deref().unwrap_or("");
        match target.split_once('?') {
            Some((_, query)) if !query.is_empty() => format!("{url}?{query}").into(),
            _ => url.into(),
        }
    }
}

impl Route {
    /// Whether a kind of event is for this route.
    pub fn matches(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| glob(pattern, kind))
    }

    /// The job that this route makes of an event about `entity`.
    pub fn plan(&self, entity: Option<&str>, content_type: Option<&[u8]>, body: &[u8]) -> Planned {
        let lane = match &self.order_by {
            Some(template) if self.order != Order::None => {
                self.lane(template.entity(content_type, body).as_deref())
            }
            _ => self.lane(entity),
        };
        Planned { route: self.name.clone(), lane }
    }

    fn lane(&self, entity: Option<&str>) -> Option<Lane> {
        let hold_us = i64::try_from(self.hold.as_micros()).unwrap_or(i64::MAX);
        self.order.lane(&self.name, entity, hold_us)
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

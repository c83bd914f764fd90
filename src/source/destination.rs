//! Destinations: what is called, and how carefully.

use providers::Secret;
use std::collections::BTreeMap;
use std::time::Duration;

/// Where jobs go, and how carefully.
#[derive(Clone, Debug)]
pub struct Destination {
    /// What is called.
    pub target: Target,
    /// Larger bodies are not sent to it.
    pub body_bytes_max: Option<usize>,
    /// It recognises a repeat by its idempotency key.
    pub idempotent: bool,
    /// How to ask whether a delivery happened.
    pub reconcile: Option<Reconcile>,
    /// When to stop calling it for a while; `None`: never.
    pub circuit: Option<Circuit>,
    /// Attempts a second, of all processes together.
    pub rate_per_s: Option<u32>,
    /// Attempts at once, of all processes together.
    pub concurrency: Option<u32>,
}

/// How to ask a destination whether a delivery happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconcile {
    /// The URL, with [`Reconcile::KEY`] in it.
    pub url: String,
    /// Private, loopback and link-local addresses may be asked.
    pub allow_private: bool,
}

impl Reconcile {
    /// What stands for the idempotency key in the URL.
    pub const KEY: &str = "{idempotency_key}";
}

/// When a destination counts as broken, and for how long it is then left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Percent of attempts that fail.
    pub failures_percent: u32,
    /// The time over which attempts are counted.
    pub window: Duration,
    /// Fewer attempts than this prove nothing.
    pub attempts_min: u32,
    /// How long to wait before a job is let through to try; doubled each time, up to tenfold.
    pub cooldown: Duration,
}

/// What a destination is.
#[derive(Clone, Debug)]
pub enum Target {
    /// An HTTP endpoint.
    Http(Box<HttpDestination>),
    /// A program that gets the body on its standard input.
    Command(CommandDestination),
    /// One line in the log for every delivery.
    Log,
    /// Code in this process, registered under the destination's name.
    Handler {
        /// After this the attempt is broken off.
        timeout: Duration,
    },
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
    /// What a 2xx must say in its body to count as one.
    pub accept: Option<Accept>,
}

/// A field of an answer and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Accept {
    /// The JSON pointer of the field.
    pub json: String,
    /// Its value.
    pub equals: serde_json::Value,
}

/// A program.
#[derive(Clone, Debug)]
pub struct CommandDestination {
    /// The program and its arguments; never a shell line.
    pub argv: Vec<String>,
    /// After this the whole process group is killed.
    pub timeout: Duration,
}

impl Destination {
    /// What kind of thing it is, as the configuration says it.
    pub fn kind(&self) -> &'static str {
        match self.target {
            Target::Http(_) => "http",
            Target::Command(_) => "command",
            Target::Log => "log",
            Target::Handler { .. } => "handler",
        }
    }
}

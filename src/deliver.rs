//! The verb `deliver`: hands one lease to its destination and says what happened out there.
//!
//! The kinds of destination stand beside this file; each returns an [`Outcome`]. None of them
//! decides what follows from it, writes to the store, tries twice, or sends a secret back:
//! excerpt and detail are bounded here, for handlers too.

mod address;
mod answer;
mod command;
mod endpoint;
mod facts;
mod handler;
mod headers;
mod http;
mod log;
mod question;
#[cfg(test)]
mod sample;
mod sign;
#[cfg(test)]
pub(crate) mod stub;

pub(crate) use address::PublicOnly;
pub use endpoint::Endpoint;
pub use facts::{idempotency_key, stable_id};
pub use handler::Handler;
pub use question::Told;

use crate::job::{Class, Fault, Lease, Outcome};
use crate::source::{CommandDestination, Destination, Target};
use http::Http;
use question::Question;
use reqwest::header::HeaderMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of an answer that are kept: enough for an error message, too little to fill the store.
pub const EXCERPT_BYTES_MAX: usize = 4096;

/// Characters of a detail: one line of a log or of a table in the console.
pub const DETAIL_CHARS_MAX: usize = 300;

/// A destination that cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
#[error("destinations.{name}: {fault}")]
pub struct DestinationUnusable {
    /// The destination's name.
    pub name: String,
    /// What is wrong with it; never a secret.
    pub fault: String,
}

/// All destinations, ready to be called.
pub struct Destinations {
    ready: BTreeMap<Arc<str>, Ready>,
    questions: BTreeMap<Arc<str>, Question>,
    body_limits: BTreeMap<Arc<str>, usize>,
}

enum Ready {
    Http(Box<Http>),
    Command(CommandDestination),
    Log,
    Handler(Arc<dyn Handler>, Duration),
}

impl Destinations {
    /// Prepares the configured destinations; every fault that can be seen without calling one
    /// is found here. `handlers` are the registered ones, by the name of their destination.
    pub fn new(
        configured: &BTreeMap<Arc<str>, Destination>,
        mut handlers: BTreeMap<String, Arc<dyn Handler>>,
    ) -> Result<Self, DestinationUnusable> {
        let unusable =
            |name: &str, fault: String| DestinationUnusable { name: name.to_owned(), fault };
        let (mut ready, mut questions) = (BTreeMap::new(), BTreeMap::new());
        let limit =
            |(name, to): (&Arc<str>, &Destination)| Some((name.clone(), to.body_bytes_max?));
        let body_limits = configured.iter().filter_map(limit).collect();
        for (name, destination) in configured {
            let prepared = match &destination.target {
                Target::Http(http) => Http::new(http).map(|http| Ready::Http(Box::new(http))),
                Target::Command(command) if command.argv.is_empty() => {
                    Err("the command is empty".to_owned())
                }
                Target::Command(command) => Ok(Ready::Command(command.clone())),
                Target::Log => Ok(Ready::Log),
                Target::Handler { timeout } => handlers
                    .remove(&**name)
                    .map(|handler| Ready::Handler(handler, *timeout))
                    .ok_or_else(|| "no handler is registered under this name".to_owned()),
            };
            ready.insert(name.clone(), prepared.map_err(|fault| unusable(name, fault))?);
            if let Some(reconcile) = &destination.reconcile {
                let headers = match &destination.target {
                    Target::Http(http) => headers::configured(&http.headers),
                    _ => Ok(HeaderMap::new()),
                };
                let question = headers.and_then(|headers| Question::new(reconcile, headers));
                questions.insert(name.clone(), question.map_err(|fault| unusable(name, fault))?);
            }
        }
        match handlers.pop_first() {
            Some((name, _)) => {
                Err(unusable(&name, "a handler is registered, but not configured".to_owned()))
            }
            None => Ok(Self { ready, questions, body_limits }),
        }
    }

    /// Hands a lease to a destination, once. `now_us` is the time at the start, for signatures
    /// and for the dates in answers.
    ///
    /// A body that was too large to come with the lease must have been put in before.
    /// Dropping the future ends the attempt: the connection is closed, the command killed.
    pub async fn deliver(&self, destination: &str, lease: &Lease, now_us: i64) -> Outcome {
        // The operator may put the name back, so this is no reason to give the job up at once.
        let failed = |detail: String| {
            bounded(Outcome::new(Class::Unreached, detail).blaming(Fault::Posthouse))
        };
        let Some(ready) = self.ready.get(destination) else {
            return failed(format!("no destination {destination:?} is configured"));
        };
        let body = match &lease.delivery.body {
            Some(body) => body,
            None if lease.delivery.forgotten => {
                let outcome = Outcome::new(Class::Refused, "body forgotten by retention");
                return outcome.blaming(Fault::Posthouse);
            }
            None => return failed("the body was not loaded from the store".into()),
        };
        if let Some(limit) = self.body_limits.get(destination).filter(|max| body.len() > **max) {
            let bytes = body.len();
            let detail = format!("too large for the destination: {bytes} bytes, at most {limit}");
            return Outcome::new(Class::Refused, detail);
        }
        bounded(match ready {
            Ready::Http(http) => http.deliver(lease, body, now_us).await,
            Ready::Command(command) => command::deliver(command, lease, body).await,
            Ready::Log => log::deliver(lease),
            Ready::Handler(handler, timeout) => handler::deliver(&**handler, *timeout, lease).await,
        })
    }
}

impl Destinations {
    /// Asks a destination whether an attempt of unknown outcome happened.
    pub async fn ask(&self, destination: &str, lease: &Lease) -> Told {
        match self.questions.get(destination) {
            Some(question) => question.ask(lease).await,
            None => Told::Nothing("it is not configured to be asked".into()),
        }
    }
}

/// Holds the two texts of an outcome within their bounds.
fn bounded(mut outcome: Outcome) -> Outcome {
    outcome.detail = one_line(&outcome.detail, DETAIL_CHARS_MAX);
    outcome.excerpt.truncate(EXCERPT_BYTES_MAX);
    outcome
}

/// A text on one line: control characters become spaces, so that what a destination answers
/// cannot forge lines of a log.
fn one_line(text: &str, chars_max: usize) -> String {
    let mut chars = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    let mut line: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        line.pop();
        line.push('\u{2026}');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;

    struct Talkative;

    impl Handler for Talkative {
        fn handle<'a>(
            &'a self,
            lease: &'a Lease,
        ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
            Box::pin(async move {
                let detail = format!("{}\nsecond line{}", lease.delivery.key, "x".repeat(400));
                let excerpt = vec![b'x'; 10_000];
                Outcome { excerpt, ..Outcome::new(Class::Accepted, detail) }
            })
        }
    }

    fn mine() -> Destination {
        Destination {
            target: Target::Handler { timeout: Duration::from_secs(5) },
            body_bytes_max: None,
            idempotent: true,
            reconcile: None,
            circuit: None,
            rate_per_s: None,
            concurrency: None,
        }
    }

    fn with_handler() -> Destinations {
        let configured = BTreeMap::from([("mine".into(), mine())]);
        let handler: Arc<dyn Handler> = Arc::new(Talkative);
        Destinations::new(&configured, BTreeMap::from([("mine".to_owned(), handler)])).unwrap()
    }

    #[tokio::test]
    async fn a_handler_is_called_and_its_texts_are_bounded() {
        let outcome = with_handler().deliver("mine", &sample::lease(b"{}"), 0).await;
        assert_eq!(outcome.class, Class::Accepted);
        assert!(outcome.detail.starts_with("7d3c0082 second line"), "{}", outcome.detail);
        assert_eq!(outcome.detail.chars().count(), DETAIL_CHARS_MAX);
        assert_eq!(outcome.excerpt.len(), EXCERPT_BYTES_MAX);
    }

    #[tokio::test]
    async fn only_a_forgotten_body_is_refused_for_good() {
        let mut lease = sample::lease(b"{}");
        let unknown = with_handler().deliver("other", &lease, 0).await;
        assert_eq!(unknown.class, Class::Unreached);
        Arc::make_mut(&mut lease.delivery).body = None;
        let missing = with_handler().deliver("mine", &lease, 0).await;
        assert_eq!(missing.class, Class::Unreached);
        Arc::make_mut(&mut lease.delivery).forgotten = true;
        let forgotten = with_handler().deliver("mine", &lease, 0).await;
        let refused = Outcome::new(Class::Refused, "body forgotten by retention");
        assert_eq!(forgotten, refused.blaming(Fault::Posthouse));
    }

    #[test]
    fn handlers_and_configuration_must_match_both_ways() {
        let handler: Arc<dyn Handler> = Arc::new(Talkative);
        let stray = BTreeMap::from([("mine".to_owned(), handler)]);
        let fault = Destinations::new(&BTreeMap::new(), stray).err().unwrap().to_string();
        assert_eq!(fault, "destinations.mine: a handler is registered, but not configured");
        let configured = BTreeMap::from([("mine".into(), mine())]);
        let fault = Destinations::new(&configured, BTreeMap::new()).err().unwrap().to_string();
        assert_eq!(fault, "destinations.mine: no handler is registered under this name");
    }
}

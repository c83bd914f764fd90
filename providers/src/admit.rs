//! Proves and reads a request: the one way from bytes to events. The order is compiled: reading
//! takes a [`Proved`], which only [`crate::sign`] makes.

use crate::{
    Coverage, Event, Keys, NoKeys, Proved, Provider, Rejection, Reply, Request, Secret, Visit,
    Window,
};

/// What an admitted request turned out to be.
#[derive(Debug)]
pub enum Admitted {
    /// Events to record, and the index of the secret that matched.
    Events {
        /// The events, in the order of the body.
        events: Vec<Event>,
        /// Which of the source's secrets proved the request.
        secret: usize,
        /// What that proof covers; of one provider, it may differ from request to request.
        coverage: Coverage,
        /// A link that the sender wants visited once they are recorded.
        visit: Option<Visit>,
    },
    /// A handshake to answer and not to record.
    Challenge(Reply),
}

/// How a source wants its requests read.
#[derive(Clone, Copy)]
pub struct Reading<'k> {
    /// Remote keys at hand.
    pub keys: &'k dyn Keys,
    /// Whether the events of a batch are recorded one by one.
    pub split: bool,
}

impl Default for Reading<'_> {
    fn default() -> Self {
        Self { keys: &NoKeys, split: true }
    }
}

/// Proves and reads a request: the one way from bytes to events.
///
/// Any of `secrets` may match. The rejection that got furthest is returned, so that a good
/// signature with a bad time is not reported as a bad signature.
pub fn admit(
    provider: &dyn Provider,
    request: &Request<'_>,
    secrets: &[Secret],
    window: Window,
) -> Result<Admitted, Rejection> {
    admit_with_keys(provider, request, secrets, window, Reading::default())
}

/// As [`admit`], with remote keys at hand, and the choice to keep a batch in one piece. On
/// [`Rejection::KeyWanted`] the key is to be fetched and the request shown once more.
pub fn admit_with_keys(
    provider: &dyn Provider,
    request: &Request<'_>,
    secrets: &[Secret],
    window: Window,
    reading: Reading<'_>,
) -> Result<Admitted, Rejection> {
    let mut deepest = Rejection::SecretUnusable("none is configured");
    for (index, secret) in secrets.iter().enumerate() {
        match provider.verify_with_keys(request, secret, window, reading.keys) {
            Ok(proved) => return read(provider, &proved, Some((index, secret)), reading.split),
            Err(rejection) if rejection.depth() >= deepest.depth() => deepest = rejection,
            Err(_) => {}
        }
    }
    Err(deepest)
}

pub(crate) fn read(
    provider: &dyn Provider,
    proved: &Proved<'_>,
    secret: Option<(usize, &Secret)>,
    split: bool,
) -> Result<Admitted, Rejection> {
    // What nobody has proved must not make us call anyone.
    let visit = secret.and_then(|_| provider.visit(proved));
    let (secret, challenge) = match secret {
        Some((index, secret)) => (index, provider.challenge_with(proved, secret)),
        None => (0, provider.challenge(proved)),
    };
    if let Some(reply) = challenge {
        return Ok(Admitted::Challenge(reply));
    }
    let events = match split {
        true => provider.events(proved)?,
        false => provider.whole(proved)?.into_iter().collect(),
    };
    match events.len() {
        0 => Ok(Admitted::Challenge(provider.accepted().unwrap_or_else(|| Reply::empty(200)))),
        1..=EVENTS_MAX => {
            Ok(Admitted::Events { events, secret, coverage: proved.coverage(), visit })
        }
        _ => Err(Rejection::Unreadable("it carries more than 10000 events")),
    }
}

/// Events of one request. Senders batch a thousand at most; each costs a row and a commit.
pub const EVENTS_MAX: usize = 10_000;

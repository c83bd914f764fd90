//! Proves and reads a request: the one way from bytes to events. The order is compiled: reading
//! takes a [`Proved`], which only [`crate::sign`] makes.

use crate::{Coverage, Event, Proved, Provider, Rejection, Reply, Request, Secret, Window};

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
    },
    /// A handshake to answer and not to record.
    Challenge(Reply),
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
    let mut deepest = Rejection::SecretUnusable("none is configured");
    for (index, secret) in secrets.iter().enumerate() {
        match provider.verify(request, secret, window) {
            Ok(proved) => return read(provider, &proved, index),
            Err(rejection) if rejection.depth() >= deepest.depth() => deepest = rejection,
            Err(_) => {}
        }
    }
    Err(deepest)
}

pub(crate) fn read(
    provider: &dyn Provider,
    proved: &Proved<'_>,
    secret: usize,
) -> Result<Admitted, Rejection> {
    if let Some(reply) = provider.challenge(proved) {
        return Ok(Admitted::Challenge(reply));
    }
    let events = provider.events(proved)?;
    Ok(Admitted::Events { events, secret, coverage: proved.coverage() })
}

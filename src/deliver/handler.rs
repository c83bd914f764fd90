//! The destination `handler`: code in this process.
//!
//! It never commits what a handler writes: the settle does, or nobody.

use crate::job::{Class, Fault, Lease, Outcome};
use std::pin::Pin;
use std::time::Duration;

/// Code in this process that takes deliveries.
///
/// Its [`Outcome::writes`] are committed by the settle or not at all. A panic in it is caught by
/// the worker, which calls that a failure.
pub trait Handler: Send + Sync + 'static {
    /// Takes one delivery. It is called again with the same lease's delivery when it fails.
    fn handle<'a>(&'a self, lease: &'a Lease)
    -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;
}

/// Calls a handler within its time. Its writes are lost with it, so only what it did beyond the
/// database is in doubt.
pub(super) async fn deliver(handler: &dyn Handler, timeout: Duration, lease: &Lease) -> Outcome {
    let outcome = tokio::time::timeout(timeout, handler.handle(lease)).await;
    let outcome = outcome.unwrap_or_else(|_| {
        let ms = timeout.as_millis();
        Outcome::new(Class::Uncertain, format!("the handler did not end within {ms} ms"))
    });
    outcome.blaming(Fault::Handler)
}

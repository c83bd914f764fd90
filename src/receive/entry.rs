//! A source at work: where its deliveries go, what it has counted, which secrets it knows.
//!
//! It proves nothing and records nothing.

use super::Head;
use crate::source::{Route, Source};
use providers::{Request, Secret};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

/// A source and where its deliveries go.
pub struct Entry {
    /// The source.
    pub source: Arc<Source>,
    /// Its routes.
    pub routes: Vec<Arc<Route>>,
    /// The second that is being counted and the deliveries in it.
    rate: AtomicI64,
    /// All secrets, once the sender has handed one over.
    pub(super) handed: OnceLock<Vec<Secret>>,
}

impl Entry {
    /// A source that has received nothing yet.
    pub fn new(source: Arc<Source>, routes: Vec<Arc<Route>>) -> Self {
        Self { source, routes, rate: AtomicI64::new(0), handed: OnceLock::new() }
    }

    /// The secrets, any of which may sign.
    pub fn secrets(&self) -> &[Secret] {
        self.handed.get().unwrap_or(&self.source.secrets)
    }

    /// Counts deliveries against the source's rate. The second and its count share one number.
    ///
    /// A request is taken whole while the second is not used up: one with more events than the rate
    /// allows in a second could otherwise never be taken.
    pub(super) fn is_over_rate(&self, now_s: i64, events: usize) -> bool {
        let Some(rate) = self.source.rate_per_s else { return false };
        let events = i64::try_from(events).unwrap_or(i64::MAX >> 1);
        let before = |packed: i64| if packed >> 24 == now_s { packed & 0xff_ffff } else { 0 };
        let pack = |packed| Some((now_s << 24) | (before(packed) + events).min(0xff_ffff));
        let counted = self.rate.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pack);
        counted.is_ok_and(|packed| before(packed) >= i64::from(rate))
    }
}

impl<'r> Head<'r> {
    /// The request that is proved: `url` is the source's own, never the one that was asked for.
    pub fn request(&'r self, url: &'r str, body: &'r [u8]) -> Request<'r> {
        Request { method: self.method, url, headers: &self.headers, body }
    }
}

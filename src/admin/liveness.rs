//! Whether the workers of this process still look for jobs. It never asks them.

use crate::delivery::Micros;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Tells whether the workers of this process still look for jobs.
pub struct Liveness {
    alive_us: Arc<AtomicI64>,
    stale: Duration,
}

/// A claimer that is merely slow must not look dead: three polls, and never less than this.
const STALE_MIN: Duration = Duration::from_secs(10);

impl Liveness {
    /// `alive_us` is when the claimer's last look succeeded, in ledger time; `poll` is how often
    /// it looks at least.
    pub fn new(alive_us: Arc<AtomicI64>, poll: Duration) -> Self {
        Self { alive_us, stale: (poll * 3).max(STALE_MIN) }
    }

    /// The age of the last look, if that is too old.
    pub(super) fn stale_for(&self, now_us: Micros) -> Option<Duration> {
        let age_us = now_us.saturating_sub(self.alive_us.load(Ordering::Relaxed));
        let age = Duration::from_micros(u64::try_from(age_us).unwrap_or(0));
        (age > self.stale).then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_stale_after_three_polls_but_not_before_ten_seconds() {
        let alive_us = Arc::new(AtomicI64::new(1_000_000));
        let quick = Liveness::new(alive_us.clone(), Duration::from_millis(10));
        assert_eq!(quick.stale_for(11_000_000), None);
        assert_eq!(quick.stale_for(11_000_001), Some(Duration::from_micros(10_000_001)));
        let slow = Liveness::new(alive_us, Duration::from_secs(20));
        assert_eq!(slow.stale_for(61_000_000), None);
        assert!(slow.stale_for(62_000_000).is_some());
        assert_eq!(slow.stale_for(0), None, "a clock that is behind proves nothing");
    }
}

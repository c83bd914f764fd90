//! The time of the ledger: it never goes back while the process runs.
//!
//! Signed timestamps are compared with the wall clock; leases and retries are not, because a
//! clock that is set back by two hours would make every retry wait for two hours.

use crate::delivery::Micros;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that was right when the process started and only ever runs forward.
#[derive(Clone)]
pub struct Clock {
    started: Instant,
    /// Microseconds since 1970 at `started`; grows when the wall clock is set forward.
    base_us: Arc<AtomicI64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { started: Instant::now(), base_us: Arc::new(AtomicI64::new(wall_us())) }
    }
}

impl Clock {
    /// Microseconds since 1970.
    pub fn now_us(&self) -> Micros {
        let elapsed_us = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX / 2);
        let wall_base_us = wall_us() - elapsed_us;
        let base_us = self.base_us.fetch_max(wall_base_us, Ordering::Relaxed).max(wall_base_us);
        base_us + elapsed_us
    }
}

/// Microseconds since 1970 by the wall clock.
pub fn wall_us() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A time as people read it: RFC 3339, UTC.
pub fn rfc3339(time_us: Micros) -> String {
    jiff::Timestamp::from_microsecond(time_us)
        .map_or_else(|_| "out of range".into(), |t| t.to_string())
}

/// A time for people and programs: written and read as RFC 3339, with its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Micros);

impl From<Micros> for Time {
    fn from(time_us: Micros) -> Self {
        Self(time_us)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed: Result<jiff::Timestamp, _> = text.parse();
        parsed.map(|time| Self(time.as_microsecond())).map_err(|_| {
            format!("{text:?} is not a time with its zone, such as 2026-11-30T12:00:00Z")
        })
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&rfc3339(self.0))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_HOURS_US: Micros = 7_200_000_000;

    /// A clock that once saw the wall clock so far from where it is now.
    fn seen(offset_us: Micros) -> Clock {
        let base_us = Arc::new(AtomicI64::new(wall_us() + offset_us));
        Clock { started: Instant::now(), base_us }
    }

    #[test]
    fn a_wall_clock_that_is_set_back_does_not_turn_the_ledger_back() {
        let (wall_us, clock) = (wall_us(), seen(TWO_HOURS_US));
        let (first_us, second_us) = (clock.now_us(), clock.clone().now_us());
        assert!(first_us >= wall_us + TWO_HOURS_US, "jobs that were due stay due");
        assert!(second_us >= first_us && second_us < first_us + 1_000_000, "and it runs on");
    }

    #[test]
    fn a_wall_clock_that_is_set_forward_takes_the_ledger_along() {
        let (wall_us, clock) = (wall_us(), seen(-TWO_HOURS_US));
        assert!(clock.now_us() >= wall_us);
    }
}

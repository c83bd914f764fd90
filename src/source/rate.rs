//! So many attempts a second, shared by everybody who keeps one number: when the next may start.

use crate::delivery::Micros;

/// A steady rate with a small burst. The number that is kept is the time at which all attempts so
/// far would be paid for at this rate ("generic cell rate algorithm"); it may lie ahead of the
/// clock by the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    per_s: i64,
}

const SECOND_US: i64 = 1_000_000;

/// Attempts that may start together are a tenth of a second's worth: few enough for whoever counts
/// by the second, enough to take several jobs in one claim.
const BURSTS_PER_SECOND: i64 = 10;

/// How far clocks of machines may lie apart. What lies further ahead than this and the burst was
/// written by a clock that has been set back since, and would stop everything until then.
const APART_US: i64 = 5 * SECOND_US;

impl Rate {
    /// So many a second, at least one.
    pub fn per_second(per_s: u32) -> Self {
        Self { per_s: i64::from(per_s.max(1)) }
    }

    /// How many may start now.
    pub fn room(self, next_us: Micros, now_us: Micros) -> i64 {
        let credit_us = now_us + self.cost_us(self.burst()) - self.paid_us(next_us, now_us);
        (credit_us.max(0) * self.per_s / SECOND_US).min(self.burst())
    }

    /// The number to keep after so many have started.
    pub fn after(self, next_us: Micros, now_us: Micros, started: i64) -> Micros {
        self.paid_us(next_us, now_us) + self.cost_us(started)
    }

    /// When to look again if there was no room left: when half a burst may start, because looking
    /// for every single one would cost more than the attempt.
    pub fn again_us(self, next_us: Micros, now_us: Micros) -> Micros {
        let waits_for = (self.burst() / 2).max(1);
        self.paid_us(next_us, now_us) - self.cost_us(self.burst() - waits_for)
    }

    fn burst(self) -> i64 {
        (self.per_s / BURSTS_PER_SECOND).max(1)
    }

    /// Rounded up, so that the rate is never exceeded.
    fn cost_us(self, count: i64) -> i64 {
        (count * SECOND_US + self.per_s - 1) / self.per_s
    }

    /// Until when all is paid for. Time that nobody used is not saved up.
    fn paid_us(self, next_us: Micros, now_us: Micros) -> Micros {
        let ahead_max_us = self.cost_us(self.burst()) + APART_US;
        if next_us - now_us > ahead_max_us { now_us } else { next_us.max(now_us) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Micros = 1_700_000_000 * SECOND_US;

    /// Starts as many as there is room for, for so long; looks again when told to, but never
    /// earlier than `pause_us` after the last look. How many were started, and with how many looks.
    fn run(rate: Rate, for_us: i64, pause_us: i64) -> (i64, i64) {
        let (mut next_us, mut now_us, mut started, mut looks) = (0, START, 0, 0);
        while now_us < START + for_us {
            let room = rate.room(next_us, now_us);
            next_us = rate.after(next_us, now_us, room);
            (started, looks) = (started + room, looks + 1);
            now_us = rate.again_us(next_us, now_us).max(now_us + pause_us);
        }
        (started, looks)
    }

    #[test]
    fn over_ten_seconds_the_rate_is_kept_and_used_up() {
        for per_s in [1, 2, 3, 7, 10, 15, 99, 100, 1000, 70_000, 100_000] {
            let rate = Rate::per_second(per_s);
            let (started, looks) = run(rate, 10 * SECOND_US, 1);
            let (least, burst) = (i64::from(per_s) * 10, (i64::from(per_s) / 10).max(1));
            assert!(started <= least + burst, "{per_s}: {started}");
            assert!(started >= least * 99 / 100, "{per_s}: {started}");
            assert!(looks <= 10 * 40 + 2, "{per_s}: {looks} looks");
        }
    }

    #[test]
    fn whoever_looks_late_gets_no_more_than_a_burst() {
        let rate = Rate::per_second(100);
        assert_eq!(run(rate, 10 * SECOND_US, SECOND_US).0, 100);
        assert_eq!(rate.room(START, START + 3600 * SECOND_US), 10);
        assert_eq!(rate.room(0, START), 10);
    }

    #[test]
    fn nothing_is_let_through_before_its_time() {
        let rate = Rate::per_second(2);
        let next_us = rate.after(0, START, rate.room(0, START));
        assert_eq!(rate.room(next_us, START + 499_999), 0);
        assert_eq!(rate.again_us(next_us, START), START + 500_000);
        assert_eq!(rate.room(next_us, START + 500_000), 1);
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nobody_for_long() {
        let rate = Rate::per_second(10);
        let next_us = rate.after(0, START + 7200 * SECOND_US, 1);
        assert_eq!(rate.room(next_us, START), 1);
        // Clocks that lie a little apart are no such thing.
        assert_eq!(rate.room(START + 2 * SECOND_US, START), 0);
    }
}

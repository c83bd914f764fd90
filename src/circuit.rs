//! `circuit`: when a destination counts as broken, and how long it is then left alone. Pure: the
//! time is an argument.
//!
//! It never opens or closes anything: the state that all processes share is in the store, and
//! `breaker` writes it.

use crate::delivery::Micros;
use crate::job::{Class, Fault, Outcome};
use crate::source::Circuit;
use std::time::Duration;

/// What an attempt says of its destination: it is alive (`true`), it fails (`false`), or nothing,
/// because Posthouse itself was the reason.
pub fn is_alive(outcome: &Outcome) -> Option<bool> {
    if outcome.fault == Fault::Posthouse && outcome.class != Class::Accepted {
        return None;
    }
    match outcome.class {
        // A refusal is an answer about one job.
        Class::Accepted | Class::Refused | Class::Gone => Some(true),
        Class::Failed | Class::Unreached | Class::Uncertain => Some(false),
    }
}

/// How long a destination is left alone when its circuit has opened so often in a row, from 1.
pub fn cooldown(circuit: &Circuit, opens: i64) -> Duration {
    let doublings = u32::try_from(opens.saturating_sub(1)).unwrap_or(0).min(4);
    circuit.cooldown.saturating_mul((1 << doublings).min(10))
}

/// Parts of a window that are counted apart. It forgets a tenth of its time at once, and takes
/// the same memory for every number of attempts.
const SLOTS: usize = 10;

/// The attempts of the last while at one destination.
#[derive(Clone, Debug, Default)]
pub struct Window([Slot; SLOTS]);

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    number: i64,
    tally: Tally,
}

/// Attempts, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub attempts: u32,
    /// Those that failed.
    pub failures: u32,
}

impl Window {
    /// Counts an attempt that ended now. The tally of the window if the destination counts as
    /// broken by it: only a failure breaks it.
    pub fn count(&mut self, circuit: &Circuit, now_us: Micros, is_alive: bool) -> Option<Tally> {
        let window_us = i64::try_from(circuit.window.as_micros()).unwrap_or(i64::MAX);
        let number = now_us / (window_us / SLOTS as i64).max(1);
        let at = usize::try_from(number.rem_euclid(SLOTS as i64)).unwrap_or(0);
        if self.0[at].number != number {
            self.0[at] = Slot { number, tally: Tally::default() };
        }
        let tally = &mut self.0[at].tally;
        tally.attempts = tally.attempts.saturating_add(1);
        tally.failures = tally.failures.saturating_add((!is_alive).into());
        if is_alive {
            return None;
        }
        let oldest = number - SLOTS as i64;
        let recent = self.0.iter().filter(|slot| slot.number > oldest && slot.number <= number);
        let all = recent.fold(Tally::default(), |sum, slot| sum.with(slot.tally));
        all.is_broken(circuit).then_some(all)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Tally {
    fn with(self, other: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            failures: self.failures.saturating_add(other.failures),
        }
    }

    fn is_broken(self, circuit: &Circuit) -> bool {
        let percent = u64::from(self.failures) * 100;
        self.attempts >= circuit.attempts_min
            && percent >= u64::from(circuit.failures_percent) * u64::from(self.attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Micros = 1_000_000;

    fn circuit() -> Circuit {
        Circuit {
            failures_percent: 50,
            window: Duration::from_secs(10),
            attempts_min: 4,
            cooldown: Duration::from_secs(3),
        }
    }

    /// Counts attempts at these times, `true` for those that show life. What the last one said.
    fn counted(attempts: &[(Micros, bool)]) -> Option<(u32, u32)> {
        let mut window = Window::default();
        let counted = attempts.iter().map(|(at_us, is_alive)| {
            let tally = window.count(&circuit(), *at_us, *is_alive);
            tally.map(|tally| (tally.failures, tally.attempts))
        });
        counted.last().flatten()
    }

    #[test]
    fn it_breaks_at_the_share_of_failures_and_not_before_there_are_enough_attempts() {
        let at = 1_700_000_000 * S;
        assert_eq!(counted(&[(at, false), (at, false), (at, false)]), None, "three prove nothing");
        assert_eq!(counted(&[(at, false); 4]), Some((4, 4)));
        assert_eq!(counted(&[(at, true), (at, true), (at, false), (at, false)]), Some((2, 4)));
        let one_less = [(at, true), (at, true), (at, true), (at, false), (at, false)];
        assert_eq!(counted(&one_less), None, "two of five are less than half");
        assert_eq!(counted(&[(at, false), (at, false), (at, false), (at, true)]), None);
    }

    #[test]
    fn it_forgets_what_is_older_than_the_window_and_nothing_else() {
        let at = 1_700_000_000 * S;
        let then = |us| [(at, false), (at, false), (at, false), (at + us, false)];
        assert_eq!(counted(&then(9 * S)), Some((4, 4)));
        assert_eq!(counted(&then(10 * S)), None);
        assert_eq!(counted(&then(95 * S)), None, "nor does it come back in a later round");
        // A machine that failed long ago, and since then did well, is not broken by one failure.
        let mut well = vec![(at, false); 100];
        well.extend((1..=40).map(|second| (at + second * S, true)));
        well.push((at + 41 * S, false));
        assert_eq!(counted(&well), None);
    }

    #[test]
    fn the_shortest_and_the_longest_window_hold_what_they_should() {
        for window in [Duration::from_secs(1), Duration::from_secs(3600)] {
            let circuit = Circuit { window, ..circuit() };
            let window_us = i64::try_from(window.as_micros()).unwrap();
            let (at, mut held) = (1_700_000_000 * S, Window::default());
            let mut count = |at_us| held.count(&circuit, at_us, false).is_some();
            let told = [0, 1, 2, window_us * 9 / 10].map(|after| count(at + after));
            assert_eq!(told, [false, false, false, true], "{window:?}");
            assert!(!count(at + window_us * 2), "{window:?}");
        }
    }

    #[test]
    fn the_wait_doubles_up_to_tenfold() {
        let waits = [1, 2, 3, 4, 5, 6, 1000].map(|opens| cooldown(&circuit(), opens).as_secs());
        assert_eq!(waits, [3, 6, 12, 24, 30, 30, 30]);
        assert_eq!(cooldown(&circuit(), 0).as_secs(), 3);
    }

    #[test]
    fn only_what_the_destination_did_counts() {
        let of = |class| is_alive(&Outcome::new(class, ""));
        assert_eq!([Class::Accepted, Class::Refused, Class::Gone].map(of), [Some(true); 3]);
        assert_eq!([Class::Failed, Class::Unreached, Class::Uncertain].map(of), [Some(false); 3]);
        for class in [Class::Refused, Class::Failed, Class::Unreached, Class::Uncertain] {
            let own = Outcome::new(class, "").blaming(Fault::Posthouse);
            assert_eq!(is_alive(&own), None, "{class:?}");
        }
        let handler = Outcome::new(Class::Failed, "").blaming(Fault::Handler);
        assert_eq!(is_alive(&handler), Some(false));
    }
}

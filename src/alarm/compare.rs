//! Pure: what is raised, what stands, and what follows from the difference.

use crate::delivery::Micros;
use crate::store::{Alarm, Evidence, Subject};
use std::collections::BTreeMap;

/// What a look at the ledger has shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What deserves an alarm, with its evidence where that is known already.
    pub(super) standing: BTreeMap<Subject, Option<Evidence>>,
    /// What cannot be said yet, and when there was a last sign that all is well.
    pub(super) undecided: BTreeMap<Subject, Option<Micros>>,
}

/// What is to be changed in the table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) raise: Vec<Subject>,
    pub(super) confirm: Vec<Subject>,
    pub(super) clear: Vec<Alarm>,
}

/// Between two confirmations: each costs a write, and the counts need not be fresher.
const CONFIRM_US: Micros = 60_000_000;

/// An alarm that nobody has confirmed for an hour is about something that no process knows any
/// more: its route or source was taken out of every configuration.
const FORGOTTEN_US: Micros = 3_600_000_000;

/// Compares. `knows` says whether this process can tell that all is well with something; what
/// it does not know it leaves to those that do.
pub(super) fn compare(
    alarms: &[Alarm],
    seen: &Seen,
    knows: impl Fn(&Subject) -> bool,
    now_us: Micros,
) -> Changes {
    let raised: BTreeMap<Subject, &Alarm> = alarms
        .iter()
        .filter(|alarm| alarm.cleared_us.is_none())
        .map(|alarm| (alarm.about(), alarm))
        .collect();
    let mut changes = Changes::default();
    let new = seen.standing.keys().filter(|about| !raised.contains_key(*about));
    changes.raise.extend(new.cloned());
    for (about, alarm) in raised {
        let clears = match alarm.clears_us {
            Some(clears_us) => clears_us <= now_us,
            None if seen.standing.contains_key(&about) => false,
            None => match seen.undecided.get(&about) {
                Some(sign_us) => *sign_us > Some(alarm.raised_us),
                None => knows(&about) || alarm.last_us < now_us - FORGOTTEN_US,
            },
        };
        let is_seen = seen.standing.contains_key(&about) || seen.undecided.contains_key(&about);
        if clears && alarm.told_us.is_some() {
            changes.clear.push(alarm.clone());
        } else if is_seen && !clears && alarm.last_us < now_us - CONFIRM_US {
            changes.confirm.push(about);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Cause;

    const NOW_US: Micros = 1_800_000_000_000_000;

    fn about(subject: &str) -> Subject {
        (Cause::Oldest, subject.to_owned())
    }

    fn alarm(subject: &str) -> Alarm {
        Alarm { told_us: Some(NOW_US), ..Alarm::raised(&about(subject), NOW_US) }
    }

    fn seen(standing: &[&str], undecided: &[(&str, Option<Micros>)]) -> Seen {
        let undecided = undecided.iter().map(|(subject, sign_us)| (about(subject), *sign_us));
        Seen {
            standing: standing.iter().map(|subject| (about(subject), None)).collect(),
            undecided: undecided.collect(),
        }
    }

    fn cleared(alarms: &[Alarm], seen: &Seen, knows: bool) -> Vec<Alarm> {
        compare(alarms, seen, |_| knows, NOW_US).clear
    }

    #[test]
    fn what_stands_is_raised_once_and_cleared_when_it_is_over() {
        let changes = compare(&[], &seen(&["a"], &[]), |_| true, NOW_US);
        assert_eq!((changes.raise, changes.clear), (vec![about("a")], vec![]));
        let changes = compare(&[alarm("a")], &seen(&["a"], &[]), |_| true, NOW_US);
        assert_eq!(changes, Changes::default());
        assert_eq!(cleared(&[alarm("a")], &seen(&[], &[]), true), [alarm("a")]);
    }

    #[test]
    fn an_end_that_is_still_to_be_told_does_not_hide_the_next_beginning() {
        let ending = Alarm { cleared_us: Some(NOW_US), ..alarm("a") };
        let changes = compare(&[ending], &seen(&["a"], &[]), |_| true, NOW_US);
        assert_eq!((changes.raise, changes.clear), (vec![about("a")], vec![]));
    }

    #[test]
    fn the_end_is_told_only_after_the_beginning() {
        let untold = Alarm { told_us: None, ..alarm("a") };
        assert_eq!(cleared(&[untold], &seen(&[], &[]), true), []);
    }

    #[test]
    fn what_is_not_known_here_is_left_to_others_until_all_have_forgotten_it() {
        assert_eq!(cleared(&[alarm("a")], &seen(&[], &[]), false), []);
        let forgotten = Alarm { last_us: NOW_US - FORGOTTEN_US - 1, ..alarm("a") };
        let alarms = [forgotten.clone()];
        assert_eq!(cleared(&alarms, &seen(&[], &[]), false), [forgotten]);
        assert_eq!(cleared(&alarms, &seen(&["a"], &[]), false), []);
    }

    #[test]
    fn what_is_undecided_stays_until_there_is_a_sign_that_all_is_well() {
        for (sign_us, clears) in [(None, false), (Some(NOW_US), false), (Some(NOW_US + 1), true)] {
            let seen = seen(&[], &[("a", sign_us)]);
            assert_eq!(cleared(&[alarm("a")], &seen, true).len() == 1, clears, "{sign_us:?}");
        }
    }

    #[test]
    fn what_merely_happened_clears_when_its_time_has_come() {
        let at = |clears_us| [Alarm { clears_us: Some(clears_us), ..alarm("a") }];
        assert_eq!(cleared(&at(NOW_US + 1), &seen(&[], &[]), true), []);
        assert_eq!(cleared(&at(NOW_US), &seen(&[], &[]), false), at(NOW_US));
    }

    #[test]
    fn what_stands_is_confirmed_once_a_minute() {
        let old = Alarm { last_us: NOW_US - CONFIRM_US - 1, ..alarm("a") };
        let undecided = seen(&[], &[("a", None)]);
        for seen in [&seen(&["a"], &[]), &undecided] {
            let alarms = [old.clone()];
            assert_eq!(compare(&alarms, seen, |_| true, NOW_US).confirm, [about("a")]);
            assert_eq!(compare(&[alarm("a")], seen, |_| true, NOW_US).confirm, []);
        }
    }
}

//! Wake-ups within the process: which routes may have work, and when.
//!
//! A wake-up is a hint. Losing one costs a poll interval, never a job.

use crate::delivery::Micros;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Bytes of one notification: PostgreSQL refuses 8000, and with it the whole transaction.
const TOLD_BYTES: usize = 7900;

/// Later times are rounded up to this, so that a thousand jobs make few wake-ups.
const STEP_US: Micros = 5_000;

/// Routes that got work, each with the times at which it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due(BTreeMap<Arc<str>, BTreeSet<Micros>>);

impl Due {
    /// Notes work of a route.
    pub fn add(&mut self, route: Arc<str>, due_us: Micros) {
        self.0.entry(route).or_default().insert(due_us);
    }

    /// Notes all of another list.
    pub fn extend(&mut self, other: Self) {
        for (route, times) in other.0 {
            self.0.entry(route).or_default().extend(times);
        }
    }

    /// Whether nothing is due at any time.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is told to other processes, in as many texts as it takes: the first time of each
    /// route. The slow poll of the others finds the rest.
    pub(super) fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for (route, due_us) in self.0.iter().filter_map(|(r, times)| Some((r, times.first()?))) {
            let one = format!("{route}@{due_us}");
            match told.last_mut().filter(|text| text.len() + 1 + one.len() <= TOLD_BYTES) {
                Some(text) => text.extend([",", &one]),
                None => told.push(one),
            }
        }
        told
    }

    /// What another process told. Whatever cannot be read is left to the slow poll.
    pub(super) fn heard(text: &str) -> Self {
        let mut due = Self::default();
        for (route, time) in text.split(',').filter_map(|told| told.split_once('@')) {
            if let Ok(due_us) = time.parse() {
                due.add(route.into(), due_us);
            }
        }
        due
    }
}

/// Routes with work now, and the times at which routes get work.
#[derive(Default)]
pub struct Wake {
    notify: Notify,
    routes: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    now: BTreeSet<Arc<str>>,
    later: BTreeMap<Micros, BTreeSet<Arc<str>>>,
}

impl Wake {
    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Routes may have work now.
    pub fn now(&self, routes: impl IntoIterator<Item = Arc<str>>) {
        let mut routes = routes.into_iter().peekable();
        if routes.peek().is_some() {
            self.pending().now.extend(routes);
            self.notify.notify_one();
        }
    }

    /// Routes get work at their times.
    pub fn due(&self, due: Due, now_us: Micros) {
        let mut now = Vec::new();
        for (route, times) in due.0 {
            for due_us in times {
                if due_us <= now_us {
                    now.push(route.clone());
                } else {
                    self.at(due_us, route.clone());
                }
            }
        }
        self.now(now);
    }

    /// A route gets work at a time.
    pub fn at(&self, due_us: Micros, route: Arc<str>) {
        let due_us = (due_us + STEP_US - 1).div_euclid(STEP_US) * STEP_US;
        self.pending().later.entry(due_us).or_default().insert(route);
        self.notify.notify_one();
    }

    /// Takes the routes that may have work, and the next time at which others get some.
    pub fn take(&self, now_us: Micros) -> (BTreeSet<Arc<str>>, Option<Micros>) {
        let mut pending = self.pending();
        let mut routes = std::mem::take(&mut pending.now);
        while let Some(entry) = pending.later.first_entry() {
            if *entry.key() > now_us {
                break;
            }
            routes.extend(entry.remove());
        }
        let next = pending.later.first_key_value().map(|(due_us, _)| *due_us);
        (routes, next)
    }

    /// Waits for the next call of [`Wake::now`] or [`Wake::at`]. One that came since the last
    /// wait counts: nothing is missed between looking and waiting.
    pub async fn wait(&self) {
        self.notify.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard_however_many_routes_there_are() {
        let mut due = Due::default();
        (0..300).for_each(|n| due.add(format!("{n:0>120}").into(), 1_700_000_000_000_000 + n));
        let told = due.told();
        assert!(told.len() > 1 && told.iter().all(|text| text.len() < 8000), "{}", told.len());
        let mut heard = Due::default();
        told.iter().for_each(|text| heard.extend(Due::heard(text)));
        assert_eq!(heard, due);
        assert!(Due::default().told().is_empty());
    }
}

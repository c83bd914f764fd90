//! Wake-ups within the process: which routes may have work, and when.
//!
//! A wake-up is a hint. Losing one costs a poll interval, never a job.

use crate::delivery::Micros;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Routes that got work, each with the earliest time at which it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due(BTreeMap<Arc<str>, Micros>);

impl Due {
    /// Notes work of a route.
    pub fn add(&mut self, route: Arc<str>, due_us: Micros) {
        let earliest_us = self.0.entry(route).or_insert(due_us);
        *earliest_us = due_us.min(*earliest_us);
    }

    /// Notes all of another list.
    pub fn extend(&mut self, other: Self) {
        for (route, due_us) in other.0 {
            self.add(route, due_us);
        }
    }

    /// Whether nothing is due at any time.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is told to other processes.
    pub(super) fn told(&self) -> String {
        let told = self.0.iter().map(|(route, due_us)| format!("{route}@{due_us}"));
        told.collect::<Vec<_>>().join(",")
    }

    /// What another process told. Whatever cannot be read is left to the slow poll.
    pub(super) fn heard(text: &str) -> Self {
        let heard = text.split(',').filter_map(|told| {
            let (route, due_us) = told.split_once('@')?;
            Some((route.into(), due_us.parse().ok()?))
        });
        Self(heard.collect())
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
        let (now, later): (Vec<_>, Vec<_>) =
            due.0.into_iter().partition(|(_, due_us)| *due_us <= now_us);
        self.now(now.into_iter().map(|(route, _)| route));
        for (route, due_us) in later {
            self.at(due_us, route);
        }
    }

    /// A route gets work at a time.
    pub fn at(&self, due_us: Micros, route: Arc<str>) {
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

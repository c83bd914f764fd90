//! Wake-ups within the process: which routes may have work, and when.
//!
//! A wake-up is a hint. Losing one costs a poll interval, never a job.

use crate::delivery::Micros;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

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

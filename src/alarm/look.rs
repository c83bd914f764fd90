//! Looks at the ledger for what deserves an alarm.
//!
//! What is dead, uncertain, halted or cut off can be seen by anybody. How long a job may wait and
//! a source be silent says the configuration, so that is judged for what is configured only.

use super::compare::Seen;
use super::usual::Usual;
use crate::clock::rfc3339;
use crate::config::Config;
use crate::delivery::Micros;
use crate::store::{Cause, Evidence, Store, StoreError, Subject};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// What senders and proxies held back while the process was down comes within seconds of its
/// start. Until then a source is not called silent.
const GRACE_US: Micros = 10_000_000;

/// What looks.
pub(super) struct Eyes {
    store: Store,
    started_us: Micros,
    oldest: Duration,
    /// Routes with their destinations.
    routes: Vec<(Arc<str>, Arc<str>)>,
    /// When routes were last seen to take no jobs: until then nothing of theirs was late.
    blocked_us: HashMap<Arc<str>, Micros>,
    /// Sources that are watched, and how long each may be silent, if that is configured.
    sources: BTreeMap<Arc<str>, Option<Duration>>,
    /// All that are configured.
    known: BTreeSet<Arc<str>>,
    usual: Usual,
}

impl Eyes {
    pub(super) fn new(config: &Config, store: Store, started_us: Micros) -> Self {
        let routes = config.routes.iter();
        let watched = config.sources.values().filter(|source| !source.disabled);
        Self {
            usual: Usual::new(store.clone()),
            store,
            started_us,
            oldest: config.alarms.oldest,
            routes: routes.map(|route| (route.name.clone(), route.destination.clone())).collect(),
            blocked_us: HashMap::new(),
            sources: watched.map(|source| (source.name.clone(), source.silent_after)).collect(),
            known: config.sources.keys().cloned().collect(),
        }
    }

    /// Whether this process can tell that all is well with something.
    pub(super) fn knows(&self, (cause, subject): &Subject) -> bool {
        match cause {
            Cause::Oldest => self.routes.iter().any(|(route, _)| **route == **subject),
            Cause::Silent => self.known.contains(subject.as_str()),
            _ => true,
        }
    }

    /// Looks once.
    pub(super) async fn look(&mut self, now_us: Micros) -> Result<Seen, StoreError> {
        let standing = self.store.standing().await?;
        let mut seen = Seen::default();
        seen.standing.extend(standing.into_iter().map(|about| (about, None)));
        self.old_jobs(&mut seen, now_us).await?;
        self.silent_sources(&mut seen, now_us).await?;
        Ok(seen)
    }

    async fn old_jobs(&mut self, seen: &mut Seen, now_us: Micros) -> Result<(), StoreError> {
        let before_us = now_us - micros(self.oldest);
        for oldest in self.store.oldest(&self.routes, before_us).await? {
            if oldest.blocked {
                self.blocked_us.insert(oldest.route, now_us);
                continue;
            }
            let freed_us = self.blocked_us.get(&oldest.route).copied().unwrap_or(0);
            let Some(due_us) = oldest.due_us.filter(|_| freed_us <= before_us) else { continue };
            let about = (Cause::Oldest, oldest.route.to_string());
            let detail = format!("a job could run since {} and does not", rfc3339(due_us));
            seen.standing.insert(about.clone(), Some(Evidence { about, count: 1, detail }));
        }
        Ok(())
    }

    async fn silent_sources(&mut self, seen: &mut Seen, now_us: Micros) -> Result<(), StoreError> {
        let names: Vec<Arc<str>> = self.sources.keys().cloned().collect();
        for heard in self.store.heard(&names).await? {
            if heard.paused {
                continue;
            }
            let configured = self.sources.get(&heard.source).copied().flatten();
            let after_us = match (configured, heard.last_us) {
                (Some(after), _) => Some(micros(after)),
                (None, Some(last_us)) => self.usual.silence(&heard.source, last_us, now_us).await?,
                (None, None) => None,
            };
            let about = (Cause::Silent, heard.source.to_string());
            let last_us = heard.last_us.unwrap_or(self.started_us);
            let Some(after_us) = after_us else {
                seen.undecided.insert(about, heard.last_us);
                continue;
            };
            if now_us - last_us <= after_us {
                continue;
            }
            if now_us - self.started_us < after_us.min(GRACE_US) {
                seen.undecided.insert(about, heard.last_us);
                continue;
            }
            let last = heard.last_us.map_or_else(|| "never".into(), rfc3339);
            let after = Duration::from_secs(u64::try_from(after_us / 1_000_000).unwrap_or(0));
            let detail = format!("silent for longer than {after:?}; last delivery: {last}");
            seen.standing.insert(about.clone(), Some(Evidence { about, count: 1, detail }));
        }
        Ok(())
    }
}

pub(super) fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX / 4)
}

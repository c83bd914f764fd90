//! `alarm`: looks at the ledger again and again, raises and clears alarms, and tells of them.
//!
//! Every process does so; the table of alarms sees to it that one of them tells. Nothing is
//! remembered that the ledger does not know, but for what only makes an alarm later. It never
//! changes a job, a delivery or a pause.

mod compare;
mod look;
mod send;
mod usual;

use crate::clock::{Clock, rfc3339};
use crate::config::Config;
use crate::delivery::Micros;
use crate::store::{Alarm, Evidence, Store, StoreError, Subject};
use compare::{Changes, compare};
use look::Eyes;
use send::Sender;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Time to write a few lines to the log. Whoever takes longer is dead, and another one writes.
const TELL_US: Micros = 10_000_000;

/// An end that the http destination has not been told for a day is told no more once there is
/// none: it was taken out of the configuration.
const ABANDONED_US: Micros = 86_400_000_000;

/// Watches over the ledger.
pub struct Watcher {
    store: Store,
    clock: Clock,
    interval: Duration,
    eyes: Eyes,
    sender: Option<Sender>,
    unsent: Arc<Notify>,
}

impl Watcher {
    /// A watcher over what is configured. Fails when the http destination cannot be used.
    pub fn new(config: &Config, store: Store, clock: Clock) -> Result<Self, String> {
        let unsent = Arc::new(Notify::new());
        let sender = config.alarm_destination.as_ref().map(|destination| {
            Sender::new(destination, store.clone(), clock.clone(), unsent.clone())
        });
        Ok(Self {
            eyes: Eyes::new(config, store.clone(), clock.now_us()),
            store,
            clock,
            interval: config.alarms.interval,
            sender: sender.transpose()?,
            unsent,
        })
    }

    /// Watches for ever. Looks only after a while, so that what waits for this very process is
    /// under way by then.
    pub async fn run(mut self) {
        let sending = self.sender.take().map(|sender| tokio::spawn(sender.run()));
        // Ends with this task, which is aborted when the process stops.
        let _sending = sending.map(|task| AbortOnDrop(task.abort_handle()));
        loop {
            tokio::time::sleep(self.interval).await;
            if let Err(error) = self.once().await {
                tracing::warn!(%error, "could not look for alarms; trying again");
            }
        }
    }

    /// Looks once, raises, confirms and clears, and tells the log.
    pub async fn once(&mut self) -> Result<(), StoreError> {
        // First what is raised, then what stands: so an alarm that another process raises in
        // between is not cleared for what was seen before.
        let alarms = self.store.alarms().await?;
        let now_us = self.clock.now_us();
        let seen = self.eyes.look(now_us).await?;
        let knows = |about: &Subject| self.eyes.knows(about);
        let Changes { raise, confirm, clear } = compare(&alarms, &seen, knows, now_us);
        let raise = self.evidence(raise, &seen.standing).await?;
        self.store.raise(&raise).await?;
        let confirm = self.evidence(confirm, &seen.standing).await?;
        self.store.confirm(&confirm).await?;
        self.store.clear(&clear).await?;
        let changed = !raise.is_empty() || !clear.is_empty();
        if changed || alarms.iter().any(Alarm::is_untold) {
            let untold = self.store.untold(self.clock.now_us() + TELL_US).await?;
            untold.iter().for_each(tell);
            self.store.told(&untold).await?;
        }
        if alarms.iter().any(|alarm| alarm.cleared_us.is_some()) || !clear.is_empty() {
            self.store.remove_told(self.clock.now_us() - ABANDONED_US).await?;
        }
        if changed || alarms.iter().any(Alarm::is_unsent) {
            self.unsent.notify_one();
        }
        Ok(())
    }

    /// What stands behind alarms, now.
    async fn evidence(
        &self,
        about: Vec<Subject>,
        seen: &BTreeMap<Subject, Option<Evidence>>,
    ) -> Result<Vec<Evidence>, StoreError> {
        let mut found = Vec::with_capacity(about.len());
        for about in about {
            let evidence = match seen.get(&about) {
                Some(Some(evidence)) => Some(evidence.clone()),
                _ => self.store.evidence(&about).await?,
            };
            found.extend(evidence.map(|Evidence { about, count, detail }| {
                let detail = one_line(&detail);
                Evidence { about, count, detail }
            }));
        }
        Ok(found)
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Writes the beginning or the end of an alarm to the log.
fn tell(alarm: &Alarm) {
    let Alarm { cause, subject, count, detail, .. } = alarm;
    let (cause, since) = (cause.word(), rfc3339(alarm.raised_us));
    match alarm.cleared_us {
        None => tracing::error!(since, count, "ALARM {cause} {subject}: {detail}"),
        Some(_) => tracing::warn!(since, count, "ALARM CLEARED {cause} {subject}"),
    }
}

/// Characters of a detail: one line of a log or of a table.
const DETAIL_CHARS_MAX: usize = 300;

/// A text on one line, so that what a sender or a destination says cannot forge a line.
fn one_line(text: &str) -> String {
    let chars = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    chars.take(DETAIL_CHARS_MAX).collect()
}

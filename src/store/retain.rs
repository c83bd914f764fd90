//! `retain`: forgets bodies first, then attempts, then whole deliveries with their keys.
//!
//! It walks the ledger in windows from the oldest delivery on, a bounded batch in a transaction,
//! and remembers up to where there is nothing left to do. Unfinished work is never touched.

use super::Store;
use super::conn::{Row, Tx};
use super::error::StoreError;
use super::forget::{drop_lanes, forget};
use super::sql::{Arg, Column};
use crate::delivery::{DeliveryId, Micros};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long each part of the ledger is kept.
#[derive(Clone, Debug)]
pub struct Ages {
    /// Bodies, counted from receipt.
    pub bodies: Duration,
    /// Attempts, counted from receipt.
    pub attempts: Duration,
    /// Deliveries, and with them their dedup keys, counted from receipt; by source.
    pub keys: BTreeMap<String, Duration>,
    /// The same for sources that are not configured any more.
    pub keys_default: Duration,
    /// Deliveries looked at in one transaction.
    pub batch: i64,
}

/// What one step forgot, or would forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Bodies.
    pub bodies: u64,
    /// Deliveries whose attempts were dropped.
    pub attempts: u64,
    /// Deliveries with their jobs and dedup keys.
    pub deliveries: u64,
    /// Lanes without jobs.
    pub lanes: u64,
}

/// One delivery of a window.
struct Seen {
    id: DeliveryId,
    received_us: Micros,
    source: String,
    body_kept: bool,
    attempts_kept: bool,
    open: bool,
}

/// A window of deliveries, each with what is still kept of it and whether it has work to do: a
/// dead job that halts its lane counts as work, or nobody could find what the lane waits for.
const WINDOW: &str = "SELECT d.id, d.received_us, d.source,
        CASE WHEN d.encoding = 'forgotten' THEN 0 ELSE 1 END,
        CASE WHEN EXISTS (SELECT 1 FROM attempts a
            WHERE a.job >= d.id * 4096 AND a.job < d.id * 4096 + 4096) THEN 1 ELSE 0 END,
        CASE WHEN EXISTS (SELECT 1 FROM jobs j
            WHERE j.id >= d.id * 4096 AND j.id < d.id * 4096 + 4096
            AND (j.state IN ('waiting', 'ready', 'running', 'retrying', 'uncertain')
                OR EXISTS (SELECT 1 FROM lanes l WHERE l.halted_by = j.id
                    AND l.lane = j.lane))) THEN 1 ELSE 0 END
     FROM deliveries d WHERE d.id > $1 AND d.received_us < $2 ORDER BY d.id LIMIT $3";

/// What of a window is old enough to be forgotten.
#[derive(Default)]
pub(super) struct Due {
    pub(super) bodies: Vec<i64>,
    pub(super) attempts: Vec<i64>,
    pub(super) deliveries: Vec<i64>,
}

impl Due {
    fn ids(&self) -> BTreeSet<i64> {
        let all = self.bodies.iter().chain(&self.attempts).chain(&self.deliveries);
        all.copied().collect()
    }

    fn counted(&self) -> Pruned {
        Pruned {
            bodies: self.bodies.len() as u64,
            attempts: self.attempts.len() as u64,
            deliveries: self.deliveries.len() as u64,
            lanes: 0,
        }
    }
}

impl Ages {
    fn of_key(&self, source: &str) -> Duration {
        self.keys.get(source).copied().unwrap_or(self.keys_default)
    }

    /// The longest that any dedup key lives. Watermarks of lanes live as long after their last
    /// job: whatever is still recognised as a repeat is then recognised as stale too.
    fn longest_key(&self) -> Duration {
        self.keys.values().copied().fold(self.keys_default, Duration::max)
    }

    /// Received before this, something of a delivery may be old enough.
    fn youngest_us(&self, now_us: Micros) -> Micros {
        let least = self.bodies.min(self.attempts).min(self.keys_default);
        before(now_us, self.keys.values().copied().fold(least, Duration::min))
    }

    fn due(&self, window: &[Seen], now_us: Micros) -> Due {
        let mut due = Due::default();
        for seen in window.iter().filter(|seen| !seen.open) {
            if seen.received_us < before(now_us, self.of_key(&seen.source)) {
                due.deliveries.push(seen.id.0);
                continue;
            }
            if seen.body_kept && seen.received_us < before(now_us, self.bodies) {
                due.bodies.push(seen.id.0);
            }
            if seen.attempts_kept && seen.received_us < before(now_us, self.attempts) {
                due.attempts.push(seen.id.0);
            }
        }
        due
    }
}

fn before(now_us: Micros, age: Duration) -> Micros {
    now_us - i64::try_from(age.as_micros()).unwrap_or(i64::MAX / 2)
}

impl Store {
    /// Looks at the next window after `from` and forgets what is old enough; `dry_run` only
    /// counts. Returns where to go on, or `None` at the end of what is old.
    pub async fn prune(
        &self,
        ages: &Ages,
        from: DeliveryId,
        dry_run: bool,
    ) -> Result<(Pruned, Option<DeliveryId>), StoreError> {
        let now_us = self.clock.now_us();
        let youngest_us = ages.youngest_us(now_us);
        let args = || vec![Arg::Int(from.0), Arg::Int(youngest_us), Arg::Int(ages.batch)];
        // Looked at without the writer first: most of what is old was forgotten long ago.
        let window = seen(&self.pools.read(WINDOW, args()).await?)?;
        let next = window.last().map(|seen| seen.id);
        let due = ages.due(&window, now_us);
        if dry_run || (due.ids().is_empty() && next.is_some()) {
            return Ok((due.counted(), next));
        }
        let mut tx = self.pools.begin().await?;
        let locked = due.ids();
        lock(&mut tx, &locked).await?;
        // Somebody may have opened a job again since: what counts is how it stands under the lock.
        let mut window = seen(&tx.run(WINDOW, args()).await?)?;
        window.retain(|seen| locked.contains(&seen.id.0));
        let due = ages.due(&window, now_us);
        let mut pruned = due.counted();
        forget(&mut tx, due).await?;
        if next.is_none() {
            let idle_us = before(now_us, ages.longest_key());
            pruned.lanes = drop_lanes(&mut tx, idle_us, ages.batch).await?;
        }
        tx.commit().await?;
        Ok((pruned, next))
    }
}

fn seen(rows: &[Row]) -> Result<Vec<Seen>, StoreError> {
    rows.iter()
        .map(|row| {
            Ok(Seen {
                id: DeliveryId(row.int(0)?),
                received_us: row.int(1)?,
                source: row.text(2)?,
                body_kept: row.flag(3)?,
                attempts_kept: row.flag(4)?,
                open: row.flag(5)?,
            })
        })
        .collect()
}

/// Locks deliveries, then their jobs: nobody repeats, replays or retries them meanwhile.
async fn lock(tx: &mut Tx, ids: &BTreeSet<i64>) -> Result<(), StoreError> {
    let ids = || vec![Column::Int(ids.iter().copied().collect())];
    tx.run_rows(
        "WITH v(id) AS ({rows})
         SELECT d.id FROM deliveries d WHERE d.id IN (SELECT id FROM v) ORDER BY d.id {for_update}",
        vec![],
        ids(),
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows})
         SELECT j.id FROM jobs j WHERE j.id IN (SELECT o.id FROM v
            JOIN jobs o ON o.id >= v.id * 4096 AND o.id < v.id * 4096 + 4096)
         ORDER BY j.id {for_update}",
        vec![],
        ids(),
    )
    .await?;
    Ok(())
}

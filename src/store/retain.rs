//! `retain`: forgets bodies first, then attempts, then whole deliveries with their keys.
//!
//! It walks the ledger in windows from the oldest delivery on, a bounded batch in a transaction,
//! and remembers up to where there is nothing left to do. Unfinished work is never touched.

use super::Store;
use super::conn::Tx;
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::{DeliveryId, Micros};
use serde::Serialize;
use std::collections::BTreeMap;
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
        let before =
            |age: Duration| now_us - i64::try_from(age.as_micros()).unwrap_or(i64::MAX / 2);
        let mut youngest = before(ages.bodies.min(ages.attempts).min(ages.keys_default));
        for age in ages.keys.values() {
            youngest = youngest.max(before(*age));
        }
        let mut tx = self.pools.begin().await?;
        let window = window(&mut tx, from, youngest, ages.batch).await?;
        let next = window.last().map(|seen| seen.id);
        let (mut bodies, mut attempts, mut deliveries) = (Vec::new(), Vec::new(), Vec::new());
        for seen in window.iter().filter(|seen| !seen.open) {
            let keys = ages.keys.get(&seen.source).copied().unwrap_or(ages.keys_default);
            if seen.received_us < before(keys) {
                deliveries.push(seen.id.0);
                continue;
            }
            if seen.body_kept && seen.received_us < before(ages.bodies) {
                bodies.push(seen.id.0);
            }
            if seen.attempts_kept && seen.received_us < before(ages.attempts) {
                attempts.push(seen.id.0);
            }
        }
        let mut pruned = Pruned {
            bodies: bodies.len() as u64,
            attempts: attempts.len() as u64,
            deliveries: deliveries.len() as u64,
            lanes: 0,
        };
        if dry_run {
            return Ok((pruned, next));
        }
        forget(&mut tx, bodies, attempts, deliveries).await?;
        if next.is_none() {
            pruned.lanes = drop_lanes(&mut tx, before(ages.keys_default), ages.batch).await?;
        }
        tx.commit().await?;
        Ok((pruned, next))
    }
}

async fn window(
    tx: &mut Tx,
    from: DeliveryId,
    youngest_us: Micros,
    count: i64,
) -> Result<Vec<Seen>, StoreError> {
    let rows = tx
        .run(
            "SELECT d.id, d.received_us, d.source,
                CASE WHEN d.encoding = 'forgotten' THEN 0 ELSE 1 END,
                CASE WHEN EXISTS (SELECT 1 FROM attempts a
                    WHERE a.job >= d.id * 4096 AND a.job < d.id * 4096 + 4096) THEN 1 ELSE 0 END,
                CASE WHEN EXISTS (SELECT 1 FROM jobs j
                    WHERE j.id >= d.id * 4096 AND j.id < d.id * 4096 + 4096
                    AND (j.state IN ('waiting', 'ready', 'running', 'retrying', 'uncertain')
                        OR EXISTS (SELECT 1 FROM lanes l WHERE l.halted_by = j.id
                            AND l.lane = j.lane))) THEN 1 ELSE 0 END
             FROM deliveries d WHERE d.id > $1 AND d.received_us < $2 ORDER BY d.id LIMIT $3",
            vec![Arg::Int(from.0), Arg::Int(youngest_us), Arg::Int(count)],
        )
        .await?;
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

async fn forget(
    tx: &mut Tx,
    bodies: Vec<i64>,
    attempts: Vec<i64>,
    deliveries: Vec<i64>,
) -> Result<(), StoreError> {
    tx.run_rows(
        "WITH v(id) AS ({rows})
         UPDATE deliveries SET encoding = 'forgotten', body = $1
         FROM v WHERE deliveries.id = v.id",
        vec![Arg::Blob(Vec::new())],
        vec![Column::Int(bodies)],
    )
    .await?;
    let all: Vec<i64> = attempts.iter().chain(&deliveries).copied().collect();
    tx.run_rows(
        "WITH v(id) AS ({rows})
         DELETE FROM attempts WHERE job IN (SELECT j.id FROM v
            JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096)",
        vec![],
        vec![Column::Int(all)],
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows})
         DELETE FROM jobs WHERE id IN (SELECT j.id FROM v
            JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096)",
        vec![],
        vec![Column::Int(deliveries.clone())],
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows}) DELETE FROM deliveries WHERE id IN (SELECT id FROM v)",
        vec![],
        vec![Column::Int(deliveries)],
    )
    .await?;
    Ok(())
}

async fn drop_lanes(tx: &mut Tx, before_us: Micros, count: i64) -> Result<u64, StoreError> {
    let rows = tx
        .run(
            "DELETE FROM lanes WHERE lane IN (SELECT lane FROM lanes
                WHERE open = 0 AND halted_by IS NULL AND touched_us < $1 LIMIT $2)
                AND open = 0
             RETURNING lane",
            vec![Arg::Int(before_us), Arg::Int(count)],
        )
        .await?;
    Ok(rows.len() as u64)
}

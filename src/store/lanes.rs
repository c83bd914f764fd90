//! The lock and the counters of lanes.
//!
//! A lane's row is locked before any of its jobs changes between waiting and ready, and a batch
//! locks its lanes in sorted order: so no job is left waiting for ever, and two batches cannot
//! wait for each other. This file never looks at a job's outcome.

use super::conn::{StoreError, Tx};
use super::replay::Found;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::job::{JobId, LaneId, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What changes in a lane: by how much its open jobs grow or shrink, and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) route: Arc<str>,
    pub(super) entity: String,
    pub(super) delta: i64,
}

/// A lane after its change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Jobs that are not finished, and the dead one that halts the lane.
    pub(super) open: i64,
    /// The number of the job that is its head now.
    pub(super) sequence: i64,
}

/// Takes the locks of lanes, in sorted order.
pub(super) async fn lock(
    tx: &mut Tx,
    lanes: impl IntoIterator<Item = LaneId>,
) -> Result<(), StoreError> {
    if !tx.is_shared() {
        // SQLite's one writer is a lock on everything.
        return Ok(());
    }
    let mut lanes: Vec<i64> = lanes.into_iter().map(|lane| lane.0).collect();
    lanes.sort_unstable();
    lanes.dedup();
    tx.run_rows(
        "WITH v(lane) AS ({rows})
         SELECT l.lane FROM lanes l WHERE l.lane IN (SELECT lane FROM v) ORDER BY l.lane
         {for_update}",
        vec![],
        vec![Column::Int(lanes)],
    )
    .await?;
    Ok(())
}

/// Counts jobs into and out of lanes and numbers the new heads.
///
/// A number is used up when a job becomes the head of its lane: when it enters an empty one, or
/// when the one before it is finished and others wait.
pub(super) async fn advance(
    tx: &mut Tx,
    changes: BTreeMap<LaneId, Change>,
    now_us: Micros,
) -> Result<BTreeMap<LaneId, Standing>, StoreError> {
    let (mut lanes, mut routes) = (Vec::new(), Vec::new());
    let (mut entities, mut deltas) = (Vec::new(), Vec::new());
    for (lane, change) in changes {
        lanes.push(lane.0);
        routes.push(change.route.to_string());
        entities.push(change.entity);
        deltas.push(change.delta);
    }
    let columns =
        vec![Column::Int(lanes), Column::Text(routes), Column::Text(entities), Column::Int(deltas)];
    // `WHERE true`: without it SQLite reads ON CONFLICT as a join condition.
    let rows = tx
        .run_rows(
            "WITH v(lane, route, entity, delta) AS ({rows})
             INSERT INTO lanes AS l (lane, route, entity, open, sequence, touched_us)
             SELECT lane, route, entity, delta, 1, $1 FROM v WHERE true ORDER BY lane
             ON CONFLICT (lane) DO UPDATE SET
                open = l.open + excluded.open,
                touched_us = excluded.touched_us,
                sequence = l.sequence + CASE
                    WHEN excluded.open > 0 AND l.open = 0 THEN 1
                    WHEN excluded.open < 0 AND l.open + excluded.open > 0 THEN 1
                    ELSE 0 END
             RETURNING lane, open, sequence",
            vec![Arg::Int(now_us)],
            columns,
        )
        .await?;
    rows.iter()
        .map(|row| {
            let standing = Standing { open: row.int(1)?, sequence: row.int(2)? };
            Ok((LaneId(row.int(0)?), standing))
        })
        .collect()
}

/// Makes the next waiting job of each lane its head. Returns the routes that have work now.
pub(super) async fn promote(
    tx: &mut Tx,
    lanes: &[(LaneId, Standing)],
    now_us: Micros,
) -> Result<Vec<Arc<str>>, StoreError> {
    let lane_numbers = lanes.iter().map(|(lane, _)| lane.0).collect();
    let sequences = lanes.iter().map(|(_, standing)| standing.sequence).collect();
    let heads = tx
        .run_rows(
            "WITH v(lane, sequence) AS ({rows})
             SELECT (SELECT j.id FROM jobs j WHERE j.lane = v.lane AND j.state = 'waiting'
                     ORDER BY j.rank, j.id LIMIT 1), sequence
             FROM v",
            vec![],
            vec![Column::Int(lane_numbers), Column::Int(sequences)],
        )
        .await?;
    let (mut ids, mut numbers) = (Vec::new(), Vec::new());
    for row in &heads {
        if let Some(id) = row.opt_int(0)? {
            ids.push(id);
            numbers.push(row.int(1)?);
        }
    }
    let promoted = tx
        .run_rows(
            "WITH v(id, sequence) AS ({rows})
             UPDATE jobs SET state = 'ready', due_us = $1, sequence = v.sequence
             FROM v WHERE jobs.id = v.id AND jobs.state = 'waiting'
             RETURNING jobs.route",
            vec![Arg::Int(now_us)],
            vec![Column::Int(ids), Column::Int(numbers)],
        )
        .await?;
    promoted.iter().map(|row| Ok(row.text(0)?.into())).collect()
}

/// Opens jobs again that were finished: each becomes the head of its lane or waits in it.
///
/// `ids` are dead jobs that the caller found; one that is no longer dead is left alone. A job
/// that halts its lane is still counted as its head. The caller holds no lane lock yet.
pub(super) async fn reopen(
    tx: &mut Tx,
    ids: &[JobId],
    now_us: Micros,
) -> Result<Vec<(JobId, Arc<str>)>, StoreError> {
    let wanted = || vec![Column::Int(ids.iter().map(|id| id.0).collect())];
    let lanes = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.lane FROM jobs j JOIN v ON j.id = v.id WHERE j.lane IS NOT NULL",
            vec![],
            wanted(),
        )
        .await?;
    let lanes: Result<Vec<_>, _> = lanes.iter().map(|row| row.int(0).map(LaneId)).collect();
    lock(tx, lanes?).await?;
    let dead = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.id, j.route, j.lane, coalesce(d.entity, ''), coalesce(l.halted_by, 0)
             FROM jobs j JOIN v ON j.id = v.id
             JOIN deliveries d ON d.id = j.id / 4096
             LEFT JOIN lanes l ON l.lane = j.lane
             WHERE j.state = 'dead' ORDER BY j.id",
            vec![],
            wanted(),
        )
        .await?;
    let mut reopened = Vec::new();
    for row in &dead {
        let (id, route) = (JobId(row.int(0)?), Arc::<str>::from(row.text(1)?));
        let lane = row.opt_int(2)?.map(LaneId);
        let halts = row.int(4)? == id.0;
        enter(tx, id, &route, lane, (row.text(3)?, halts), now_us).await?;
        reopened.push((id, route));
    }
    Ok(reopened)
}

/// Puts one job back into its lane.
async fn enter(
    tx: &mut Tx,
    id: JobId,
    route: &Arc<str>,
    lane: Option<LaneId>,
    (entity, halts): (String, bool),
    now_us: Micros,
) -> Result<(), StoreError> {
    let (mut head, mut sequence) = (true, None);
    if let (Some(lane), true) = (lane, halts) {
        tx.run("UPDATE lanes SET halted_by = NULL WHERE lane = $1", vec![Arg::Int(lane.0)]).await?;
    } else if let Some(lane) = lane {
        let change = Change { route: route.clone(), entity, delta: 1 };
        let standing = advance(tx, BTreeMap::from([(lane, change)]), now_us).await?;
        let standing = standing.get(&lane);
        head = standing.is_some_and(|standing| standing.open == 1);
        sequence = standing.filter(|_| head).map(|standing| standing.sequence);
    }
    let (state, due_us) = if head { ("ready", Some(now_us)) } else { ("waiting", None) };
    tx.run(
        "UPDATE jobs SET state = $2, due_us = $3, tries = 0, since_us = $4, settled_us = NULL,
            sequence = coalesce($5, sequence)
         WHERE id = $1 AND state = 'dead'",
        vec![
            Arg::Int(id.0),
            Arg::Text(state.into()),
            Arg::OptInt(due_us),
            Arg::Int(now_us),
            Arg::OptInt(sequence),
        ],
    )
    .await?;
    Ok(())
}

/// Takes a called-off job out of its lane. The caller holds the lane's lock.
///
/// A head that was never tried hands its number on, so that numbers stay without gaps.
pub(super) async fn leave(
    tx: &mut Tx,
    job: JobId,
    found: &Found,
    now_us: Micros,
) -> Result<BTreeSet<Arc<str>>, StoreError> {
    let Some(lane) = found.lane else { return Ok(BTreeSet::new()) };
    let rows = tx
        .run(
            "SELECT open, coalesce(halted_by, 0) FROM lanes WHERE lane = $1",
            vec![Arg::Int(lane.0)],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(BTreeSet::new()) };
    let (open, halts) = (row.int(0)?, row.int(1)? == job.0);
    if !found.state.is_open() && !halts {
        return Ok(BTreeSet::new());
    }
    let left = open - 1;
    let head = found.state != State::Waiting;
    let untried = found.attempts == 0;
    let step = i64::from(head && left > 0) - i64::from(head && untried);
    let rows = tx
        .run(
            "UPDATE lanes SET open = open - 1, sequence = sequence + $2, touched_us = $3,
                halted_by = CASE WHEN halted_by = $4 THEN NULL ELSE halted_by END
             WHERE lane = $1 RETURNING open, sequence",
            vec![Arg::Int(lane.0), Arg::Int(step), Arg::Int(now_us), Arg::Int(job.0)],
        )
        .await?;
    let Some(row) = rows.first().filter(|_| head && left > 0) else { return Ok(BTreeSet::new()) };
    let standing = Standing { open: row.int(0)?, sequence: row.int(1)? };
    Ok(promote(tx, &[(lane, standing)], now_us).await?.into_iter().collect())
}

//! The lock and the counters of lanes.
//!
//! A lane's row is locked before any of its jobs changes between waiting and ready, and a batch
//! locks its lanes in sorted order: so no job is left waiting for ever, and two batches cannot
//! wait for each other. This file never looks at a job's outcome.

use super::conn::Tx;
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::job::LaneId;
use std::collections::BTreeMap;
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

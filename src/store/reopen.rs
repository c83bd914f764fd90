//! Jobs that come back into their lanes, and jobs that are called off out of them.

use super::conn::Tx;
use super::error::StoreError;
use super::lanes::{Change, Standing, advance, lock, promote};
use super::operate::Found;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::job::{JobId, LaneId, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

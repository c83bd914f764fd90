//! Lanes go on: their next job becomes the head, and what comes too late is superseded.
//!
//! The caller holds the locks of the lanes.

use super::conn::Tx;
use super::error::StoreError;
use super::lanes::{Standing, shrink};
use super::sql::{Arg, Column};
use super::wake::Due;
use crate::delivery::Micros;
use crate::job::LaneId;
use std::collections::BTreeMap;

/// Makes the next waiting job of each lane its head, and supersedes those that come too late.
/// Returns the work that there is now.
pub(super) async fn promote(
    tx: &mut Tx,
    mut lanes: BTreeMap<LaneId, Standing>,
    now_us: Micros,
) -> Result<Due, StoreError> {
    let superseded = supersede(tx, &lanes, now_us).await?;
    lanes.extend(shrink(tx, &superseded).await?);
    lanes.retain(|_, standing| standing.open > 0);
    let standings = || lanes.values();
    let heads = tx
        .run_rows(
            "WITH v(lane, sequence, done) AS ({rows})
             SELECT (SELECT j.id FROM jobs j WHERE j.lane = v.lane AND j.state = 'waiting'
                     ORDER BY j.rank, j.place, j.id LIMIT 1), sequence, done
             FROM v",
            vec![],
            vec![
                Column::Int(lanes.keys().map(|lane| lane.0).collect()),
                Column::Int(standings().map(|standing| standing.sequence).collect()),
                Column::OptInt(standings().map(|standing| standing.done.map(|d| d.0)).collect()),
            ],
        )
        .await?;
    let (mut ids, mut numbers, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for row in &heads {
        if let Some(id) = row.opt_int(0)? {
            ids.push(id);
            numbers.push(row.int(1)?);
            done.push(row.opt_int(2)?);
        }
    }
    let promoted = tx
        .run_rows(
            "WITH v(id, sequence, done) AS ({rows})
             UPDATE jobs SET state = 'ready', sequence = v.sequence,
                due_us = CASE WHEN earliest_us > $1 THEN earliest_us ELSE $1 END,
                stale = CASE WHEN position < v.done THEN 1 ELSE 0 END
             FROM v WHERE jobs.id = v.id AND jobs.state = 'waiting'
             RETURNING jobs.route, jobs.due_us",
            vec![Arg::Int(now_us)],
            vec![Column::Int(ids), Column::Int(numbers), Column::OptInt(done)],
        )
        .await?;
    let mut due = Due::default();
    for row in &promoted {
        due.add(row.text(0)?.into(), row.int(1)?);
    }
    Ok(due)
}

/// Why a job was superseded, for those who ask.
pub(super) const SUPERSEDED: &str = "a later event about the same entity was processed before";

/// Supersedes the waiting jobs of `latest` lanes that are older than the watermark. Replays are
/// what an operator wants to be sent again, and stay.
async fn supersede(
    tx: &mut Tx,
    lanes: &BTreeMap<LaneId, Standing>,
    now_us: Micros,
) -> Result<BTreeMap<LaneId, i64>, StoreError> {
    let with_done = lanes.iter().filter(|(_, standing)| standing.latest);
    let with_done: Vec<_> =
        with_done.filter_map(|(lane, standing)| Some((lane.0, standing.done?))).collect();
    // A known position is the job's place too, which is in the index.
    let rows = tx
        .run_rows(
            "WITH v(lane, done, done_by) AS ({rows})
             UPDATE jobs SET state = 'superseded', settled_us = $1, superseded_by = v.done_by,
                reason = $2
             FROM v WHERE jobs.lane = v.lane AND jobs.state = 'waiting' AND jobs.rank = 0
                AND jobs.place < v.done AND jobs.position < v.done
             RETURNING jobs.lane",
            vec![Arg::Int(now_us), Arg::Text(SUPERSEDED.into())],
            vec![
                Column::Int(with_done.iter().map(|(lane, _)| *lane).collect()),
                Column::Int(with_done.iter().map(|(_, (position, _))| *position).collect()),
                Column::Int(with_done.iter().map(|(_, (_, job))| job.0).collect()),
            ],
        )
        .await?;
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(LaneId(row.int(0)?)).or_default() += 1;
    }
    Ok(counts)
}

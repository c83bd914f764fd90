//! The lock, the counters and the watermark of lanes.
//!
//! A lane's row is locked before any of its jobs changes between waiting and ready, and a batch
//! locks its lanes in sorted order: so no job is left waiting for ever, and two batches cannot
//! wait for each other. This file never looks at a job's outcome.

use super::conn::{Row, Tx};
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::job::{JobId, LaneId};
use providers::Position;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What changes in a lane: by how much its open jobs grow or shrink, and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) route: Arc<str>,
    pub(super) entity: String,
    pub(super) delta: i64,
    /// What is older than the watermark is superseded from now on. Of no meaning to a lane that
    /// shrinks.
    pub(super) latest: bool,
    /// What positions are, if the lane does not know yet.
    pub(super) measure: Option<Measure>,
    /// The position of a job that succeeded.
    pub(super) done: Option<(i64, JobId)>,
    /// Jobs enter that yield to live ones.
    pub(super) background: bool,
}

impl Change {
    /// Jobs that leave a lane. Its row exists, so its entity is not written again.
    pub(super) fn leaving(route: Arc<str>, done: Option<(i64, JobId)>) -> Self {
        let entity = String::new();
        Self { route, entity, delta: -1, latest: false, measure: None, done, background: false }
    }
}

/// What the positions of a lane are. The first event that has one decides, and a lane keeps to
/// it: numbers and times cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The sender's own numbers.
    Sequence = 1,
    /// Times, in microseconds since 1970.
    Time = 2,
}

impl Measure {
    /// The best measure of an event: numbers have no ties.
    pub(super) fn of(position: Position) -> Option<Self> {
        match position {
            Position { sequence: Some(_), .. } => Some(Self::Sequence),
            Position { occurred_at_us: Some(_), .. } => Some(Self::Time),
            Position { .. } => None,
        }
    }

    /// Where an event stands by this measure; unknown is `None`.
    pub(super) fn read(self, position: Position) -> Option<i64> {
        match self {
            Self::Sequence => position.sequence,
            Self::Time => position.occurred_at_us,
        }
    }

    fn stored(number: Option<i64>) -> Option<Self> {
        match number {
            Some(1) => Some(Self::Sequence),
            Some(2) => Some(Self::Time),
            _ => None,
        }
    }
}

/// A lane after its change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Jobs that are not finished, and the dead or uncertain one that halts the lane.
    pub(super) open: i64,
    /// The number of the job that is its head now.
    pub(super) sequence: i64,
    /// What is older than the watermark is superseded.
    pub(super) latest: bool,
    /// What positions are.
    pub(super) measure: Option<Measure>,
    /// The highest position that arrived, kept for lanes in the order of positions.
    pub(super) seen: Option<i64>,
    /// The watermark: the highest position whose job succeeded, and that job.
    pub(super) done: Option<(i64, JobId)>,
    /// Jobs may be there that yield to live ones: set until the lane is empty.
    pub(super) background: bool,
}

/// The columns of a [`Standing`], after the lane's own number.
macro_rules! returning_standing {
    () => {
        " RETURNING lane, open, sequence, latest, measure, seen, done, done_by, background"
    };
}
pub(super) use returning_standing;

/// Reads what [`returning_standing`] returns.
pub(super) fn standing(row: &Row) -> Result<(LaneId, Standing), StoreError> {
    let done = row.opt_int(6)?.zip(row.opt_int(7)?.map(JobId));
    let standing = Standing {
        open: row.int(1)?,
        sequence: row.int(2)?,
        latest: row.int(3)? == 1,
        measure: Measure::stored(row.opt_int(4)?),
        seen: row.opt_int(5)?,
        done,
        background: row.int(8)? == 1,
    };
    Ok((LaneId(row.int(0)?), standing))
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

/// Counts jobs into and out of lanes, numbers the new heads and moves the watermarks.
///
/// A number is used up when a job becomes the head of its lane: when it enters an empty one, or
/// when the one before it is finished and others wait.
pub(super) async fn advance(
    tx: &mut Tx,
    changes: BTreeMap<LaneId, Change>,
    now_us: Micros,
) -> Result<BTreeMap<LaneId, Standing>, StoreError> {
    let lanes = changes.keys().map(|lane| lane.0).collect();
    let changes: Vec<Change> = changes.into_values().collect();
    let done = |change: &Change| change.done.map(|(position, _)| position);
    let columns = vec![
        Column::Int(lanes),
        Column::Text(changes.iter().map(|change| change.route.to_string()).collect()),
        Column::Int(changes.iter().map(|change| change.delta).collect()),
        Column::Int(changes.iter().map(|change| change.latest.into()).collect()),
        Column::OptInt(changes.iter().map(|change| change.measure.map(|m| m as i64)).collect()),
        Column::OptInt(changes.iter().map(done).collect()),
        Column::OptInt(changes.iter().map(|change| change.done.map(|(_, job)| job.0)).collect()),
        Column::Int(changes.iter().map(|change| change.background.into()).collect()),
        Column::Text(changes.into_iter().map(|change| change.entity).collect()),
    ];
    // `WHERE true`: without it SQLite reads ON CONFLICT as a join condition.
    let rows = tx
        .run_rows(
            concat!(
                "WITH v(lane, route, delta, latest, measure, done, done_by, background, entity)
                    AS ({rows})
                 INSERT INTO lanes AS l (lane, route, entity, open, sequence, touched_us, latest,
                    measure, done, done_by, background)
                 SELECT lane, route, entity, delta, 1, $1, latest, measure, done, done_by,
                    background
                 FROM v WHERE true ORDER BY lane
                 ON CONFLICT (lane) DO UPDATE SET
                    open = l.open + excluded.open,
                    touched_us = excluded.touched_us,
                    latest = CASE WHEN excluded.open > 0 THEN excluded.latest ELSE l.latest END,
                    measure = coalesce(l.measure, excluded.measure),
                    background = CASE WHEN l.open + excluded.open = 0 THEN 0
                        WHEN excluded.background = 1 THEN 1 ELSE l.background END,
                    done_by = CASE WHEN l.done >= excluded.done THEN l.done_by
                        ELSE coalesce(excluded.done_by, l.done_by) END,
                    done = CASE WHEN l.done >= excluded.done THEN l.done
                        ELSE coalesce(excluded.done, l.done) END,
                    sequence = l.sequence + CASE
                        WHEN excluded.open > 0 AND l.open = 0 THEN 1
                        WHEN excluded.open < 0 AND l.open + excluded.open > 0 THEN 1
                        ELSE 0 END",
                returning_standing!()
            ),
            vec![Arg::Int(now_us)],
            columns,
        )
        .await?;
    rows.iter().map(standing).collect()
}

/// Takes superseded jobs out of the count of their lanes. A number that the lane's next head was
/// to have is given back when there is none.
pub(super) async fn shrink(
    tx: &mut Tx,
    superseded: &BTreeMap<LaneId, i64>,
) -> Result<BTreeMap<LaneId, Standing>, StoreError> {
    let rows = tx
        .run_rows(
            concat!(
                "WITH v(lane, n) AS ({rows})
                 UPDATE lanes SET open = open - v.n,
                    sequence = sequence - CASE WHEN open = v.n THEN 1 ELSE 0 END
                 FROM v WHERE lanes.lane = v.lane",
                " RETURNING lanes.lane, open, sequence, latest, measure, seen, done, done_by,
                    background"
            ),
            vec![],
            vec![
                Column::Int(superseded.keys().map(|lane| lane.0).collect()),
                Column::Int(superseded.values().copied().collect()),
            ],
        )
        .await?;
    rows.iter().map(standing).collect()
}

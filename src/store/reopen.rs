//! Jobs that come back into their lanes, and jobs that are called off out of them.

use super::conn::{Row, Tx};
use super::enter::{Entered, Entering, enter};
use super::error::StoreError;
use super::lanes::{lock, returning_standing, standing};
use super::operate::Found;
use super::promote::{SUPERSEDED, promote};
use super::sql::{Arg, Column};
use super::wake::Due;
use crate::delivery::Micros;
use crate::job::{JobId, Lane, LaneId, Planned, State};
use providers::Position;
use std::collections::BTreeMap;

/// A finished job that is to be opened again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) id: JobId,
    /// 0 for live jobs, 1 for those that yield to them.
    pub(super) rank: i64,
    /// Not to run before.
    pub(super) earliest_us: Option<Micros>,
    /// Sent even if it comes too late by now.
    pub(super) insists: bool,
}

impl Again {
    /// As soon as its lane allows, like any live job.
    pub(super) fn live(id: JobId) -> Self {
        Self { id, rank: 0, earliest_us: None, insists: false }
    }
}

/// What was opened again.
#[derive(Debug, Default)]
pub(super) struct Reopened {
    pub(super) jobs: Vec<JobId>,
    pub(super) due: Due,
}

/// A finished job as it was found.
struct Former {
    again: Again,
    plan: Planned,
    kept: (Option<i64>, i64),
    halts: bool,
}

/// Opens jobs again that were finished: each becomes the head of its lane or waits in it.
///
/// `wanted` are jobs that the caller found in state `from`; one that is no longer is left alone.
/// A job that halts its lane is still counted as its head. The caller holds no lane lock yet.
pub(super) async fn reopen(
    tx: &mut Tx,
    from: State,
    wanted: &[Again],
    now_us: Micros,
) -> Result<Reopened, StoreError> {
    let ids = || vec![Column::Int(wanted.iter().map(|again| again.id.0).collect())];
    let lanes = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.lane FROM jobs j JOIN v ON j.id = v.id WHERE j.lane IS NOT NULL",
            vec![],
            ids(),
        )
        .await?;
    let lanes: Result<Vec<_>, _> = lanes.iter().map(|row| row.int(0).map(LaneId)).collect();
    lock(tx, lanes?).await?;
    let rows = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.id, j.route, j.lane, coalesce(l.entity, d.entity, ''),
                coalesce(l.halted_by, 0), j.position, j.place, coalesce(l.latest, 0)
             FROM jobs j JOIN v ON j.id = v.id
             JOIN deliveries d ON d.id = j.id / 4096
             LEFT JOIN lanes l ON l.lane = j.lane
             WHERE j.state = $1 ORDER BY j.id",
            vec![Arg::Text(from.word().into())],
            ids(),
        )
        .await?;
    let formers = rows.iter().map(|row| former(row, wanted)).collect::<Result<Vec<_>, _>>()?;
    let (halting, others): (Vec<_>, Vec<_>) = formers.into_iter().partition(|one| one.halts);
    release(tx, &halting).await?;
    let entering = others.iter().map(|former| Entering {
        id: former.again.id,
        plan: &former.plan,
        position: Position::default(),
        kept: Some(former.kept),
        rank: former.again.rank,
        earliest_us: former.again.earliest_us,
        insists: former.again.insists,
    });
    let entered = enter(tx, &entering.collect::<Vec<_>>(), now_us).await?;
    let mut all: Vec<(&Former, Entered)> = others.iter().zip(entered).collect();
    all.extend(halting.iter().map(|former| (former, head(former, now_us))));
    write(tx, from, &all, now_us).await?;
    let mut reopened = Reopened::default();
    for (former, entered) in &all {
        if entered.state != State::Superseded {
            reopened.jobs.push(former.again.id);
        }
        if let Some(due_us) = entered.due_us {
            reopened.due.add(former.plan.route.clone(), due_us);
        }
    }
    Ok(reopened)
}

fn former(row: &Row, wanted: &[Again]) -> Result<Former, StoreError> {
    let id = JobId(row.int(0)?);
    let halts = row.int(4)? == id.0;
    let found = wanted.iter().find(|again| again.id == id);
    let mut again = found.copied().unwrap_or(Again::live(id));
    if halts {
        // Its lane waits for it and for nothing else: it cannot yield.
        again.rank = 0;
    }
    let (entity, latest) = (row.text(3)?, row.int(7)? == 1);
    let lane = row.opt_int(2)?.map(|lane| Lane {
        id: LaneId(lane),
        entity,
        // Its place is kept, not found again.
        by_position: false,
        latest,
        hold_us: 0,
    });
    let plan = Planned { route: row.text(1)?.into(), lane };
    Ok(Former { again, plan, kept: (row.opt_int(5)?, row.int(6)?), halts })
}

/// A job that halted its lane is its head again, under its old number.
fn head(former: &Former, now_us: Micros) -> Entered {
    let earliest_us = former.again.earliest_us;
    Entered {
        state: State::Ready,
        due_us: Some(earliest_us.unwrap_or(now_us).max(now_us)),
        earliest_us,
        sequence: None,
        position: former.kept.0,
        place: former.kept.1,
        stale: false,
        superseded_by: None,
    }
}

/// Lets the lanes go on that these jobs halted.
async fn release(tx: &mut Tx, halting: &[Former]) -> Result<(), StoreError> {
    let lanes = halting.iter().filter_map(|former| Some(former.plan.lane.as_ref()?.id.0));
    tx.run_rows(
        "WITH v(lane) AS ({rows})
         UPDATE lanes SET halted_by = NULL FROM v WHERE lanes.lane = v.lane",
        vec![],
        vec![Column::Int(lanes.collect())],
    )
    .await?;
    Ok(())
}

/// Writes how the jobs stand now.
async fn write(
    tx: &mut Tx,
    from: State,
    all: &[(&Former, Entered)],
    now_us: Micros,
) -> Result<(), StoreError> {
    let of = |read: fn(&Entered) -> Option<i64>| all.iter().map(|(_, one)| read(one)).collect();
    tx.run_rows(
        "WITH v(id, state, due_us, earliest_us, rank, sequence, stale, superseded_by)
            AS ({rows})
         UPDATE jobs SET state = v.state, due_us = v.due_us, earliest_us = v.earliest_us,
            rank = v.rank, sequence = coalesce(v.sequence, jobs.sequence), stale = v.stale,
            superseded_by = v.superseded_by,
            settled_us = CASE WHEN v.state = 'superseded' THEN $1 END,
            reason = CASE WHEN v.state = 'superseded' THEN $3 ELSE reason END, fault = NULL,
            probe_us = NULL, tries = 0, since_us = $1
         FROM v WHERE jobs.id = v.id AND jobs.state = $2",
        vec![Arg::Int(now_us), Arg::Text(from.word().into()), Arg::Text(SUPERSEDED.into())],
        vec![
            Column::Int(all.iter().map(|(former, _)| former.again.id.0).collect()),
            Column::Text(all.iter().map(|(_, one)| one.state.word().to_owned()).collect()),
            Column::OptInt(of(|one| one.due_us)),
            Column::OptInt(of(|one| one.earliest_us)),
            Column::Int(all.iter().map(|(former, _)| former.again.rank).collect()),
            Column::OptInt(of(|one| one.sequence)),
            Column::Int(all.iter().map(|(_, one)| one.stale.into()).collect()),
            Column::OptInt(of(|one| one.superseded_by.map(|job| job.0))),
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
) -> Result<Due, StoreError> {
    let Some(lane) = found.lane else { return Ok(Due::default()) };
    let rows = tx
        .run(
            "SELECT open, coalesce(halted_by, 0) FROM lanes WHERE lane = $1",
            vec![Arg::Int(lane.0)],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(Due::default()) };
    let (open, halts) = (row.int(0)?, row.int(1)? == job.0);
    if !found.state.is_open() && !halts {
        return Ok(Due::default());
    }
    let left = open - 1;
    let head = found.state != State::Waiting;
    let untried = found.attempts == 0;
    let step = i64::from(head && left > 0) - i64::from(head && untried);
    let rows = tx
        .run(
            concat!(
                "UPDATE lanes SET open = open - 1, sequence = sequence + $2, touched_us = $3,
                    halted_by = CASE WHEN halted_by = $4 THEN NULL ELSE halted_by END
                 WHERE lane = $1",
                returning_standing!()
            ),
            vec![Arg::Int(lane.0), Arg::Int(step), Arg::Int(now_us), Arg::Int(job.0)],
        )
        .await?;
    match rows.first().filter(|_| head && left > 0) {
        Some(row) => promote(tx, BTreeMap::from([standing(row)?]), now_us).await,
        None => Ok(Due::default()),
    }
}

//! Jobs enter their lanes: at once as the head, behind others, in the place of a head that was to
//! come later, or not at all because they come too late.
//!
//! For every way in: recording, replays, and jobs that are opened again. It writes no job of its
//! callers, only the heads that have to step back.

use super::conn::Tx;
use super::error::StoreError;
use super::lanes::{self, Change, Measure, Standing};
use super::sql::Column;
use crate::delivery::Micros;
use crate::job::{JobId, Lane, LaneId, Planned, State};
use providers::Position;
use std::collections::{BTreeMap, BTreeSet};

/// A job on its way into its lane.
pub(super) struct Entering<'a> {
    pub(super) id: JobId,
    pub(super) plan: &'a Planned,
    pub(super) position: Position,
    /// The position and the place that it had when it was there before.
    pub(super) kept: Option<(Option<i64>, i64)>,
    /// 0 for live jobs, 1 for those that yield to them.
    pub(super) rank: i64,
    /// Not to run before, beside what the lane's hold asks for.
    pub(super) earliest_us: Option<Micros>,
    /// Sent even if it comes too late: an operator wants it.
    pub(super) insists: bool,
}

/// How a job stands once it has entered.
#[derive(Clone, Debug)]
pub(super) struct Entered {
    pub(super) state: State,
    pub(super) due_us: Option<Micros>,
    pub(super) earliest_us: Option<Micros>,
    pub(super) sequence: Option<i64>,
    pub(super) position: Option<i64>,
    pub(super) place: i64,
    pub(super) stale: bool,
    pub(super) superseded_by: Option<JobId>,
}

/// Lets jobs enter, in the order of their ids. The answers are in the order of `jobs`.
///
/// Takes the locks of their lanes, in sorted order.
pub(super) async fn enter(
    tx: &mut Tx,
    jobs: &[Entering<'_>],
    now_us: Micros,
) -> Result<Vec<Entered>, StoreError> {
    let mut changes: BTreeMap<LaneId, Change> = BTreeMap::new();
    for (job, lane) in jobs.iter().filter_map(|job| Some((job, job.plan.lane.as_ref()?))) {
        let change = changes.entry(lane.id).or_insert_with(|| Change {
            route: job.plan.route.clone(),
            entity: lane.entity.clone(),
            delta: 0,
            latest: lane.latest,
            measure: None,
            done: None,
            background: false,
        });
        change.delta += 1;
        change.background |= job.rank > 0;
        change.measure = change.measure.or(Measure::of(job.position));
    }
    let added: BTreeMap<LaneId, i64> = changes.iter().map(|(lane, c)| (*lane, c.delta)).collect();
    let mut standings = lanes::advance(tx, changes, now_us).await?;
    let mut entered = placed(jobs, &mut standings, now_us);
    note_seen(tx, jobs, &standings).await?;
    let mut superseded: BTreeMap<LaneId, i64> = BTreeMap::new();
    for (job, entered) in jobs.iter().zip(&entered) {
        if let (Some(lane), State::Superseded) = (&job.plan.lane, entered.state) {
            *superseded.entry(lane.id).or_default() += 1;
        }
    }
    standings.extend(lanes::shrink(tx, &superseded).await?);
    let firsts = firsts(jobs, &entered);
    let mut heads = heads(tx, jobs, &standings, &added, &superseded).await?;
    heads.retain(|lane, head| {
        let before = |at: &usize| {
            (jobs[*at].rank, entered[*at].place, jobs[*at].id) < (head.rank, head.place, head.id)
        };
        head.yields && firsts.get(lane).is_some_and(before)
    });
    let stepped_back = step_back(tx, heads.values().map(|head| head.id.0).collect()).await?;
    for (lane, at) in firsts {
        let Some(standing) = standings.get(&lane) else { continue };
        // Nobody is there but what enters now, or the one that was there stepped back.
        let was_empty = standing.open == added[&lane] - superseded.get(&lane).unwrap_or(&0);
        if was_empty || stepped_back.contains(&lane) {
            let earliest_us = entered[at].earliest_us.unwrap_or(now_us);
            entered[at].state = State::Ready;
            entered[at].due_us = Some(earliest_us.max(now_us));
            entered[at].sequence = Some(standing.sequence);
        }
    }
    Ok(entered)
}

/// The jobs with their positions: those without a lane are ready, those that come too late are
/// superseded, all others wait for now.
fn placed(
    jobs: &[Entering<'_>],
    standings: &mut BTreeMap<LaneId, Standing>,
    now_us: Micros,
) -> Vec<Entered> {
    let place = |job: &Entering<'_>| {
        let hold_us = job.plan.lane.as_ref().map_or(0, |lane| lane.hold_us);
        let held_us = (hold_us > 0 && job.rank == 0).then(|| now_us.saturating_add(hold_us));
        let mut entered = Entered {
            state: State::Ready,
            due_us: None,
            earliest_us: job.earliest_us.max(held_us),
            sequence: None,
            position: None,
            place: 0,
            stale: false,
            superseded_by: None,
        };
        let Some(lane) = &job.plan.lane else {
            entered.due_us = Some(entered.earliest_us.unwrap_or(now_us).max(now_us));
            return entered;
        };
        entered.state = State::Waiting;
        if let Some(standing) = standings.get_mut(&lane.id) {
            stand(&mut entered, job, lane, standing);
        }
        entered
    };
    jobs.iter().map(place).collect()
}

/// Finds a job's place in its lane. What has no position follows everything that arrived before.
fn stand(entered: &mut Entered, job: &Entering<'_>, lane: &Lane, standing: &mut Standing) {
    if let Some(kept) = job.kept {
        (entered.position, entered.place) = kept;
    } else {
        entered.position = standing.measure.and_then(|measure| measure.read(job.position));
        if lane.by_position {
            standing.seen = standing.seen.max(entered.position);
            entered.place = entered.position.or(standing.seen).unwrap_or(0);
        }
    }
    let late = standing.done.filter(|(done, _)| entered.position.is_some_and(|at| at < *done));
    entered.stale = late.is_some();
    if let Some((_, by)) = late.filter(|_| lane.latest && !job.insists) {
        entered.state = State::Superseded;
        entered.superseded_by = Some(by);
    }
}

/// Writes down the highest position that has arrived in lanes that go by positions.
async fn note_seen(
    tx: &mut Tx,
    jobs: &[Entering<'_>],
    standings: &BTreeMap<LaneId, Standing>,
) -> Result<(), StoreError> {
    let by_position = jobs.iter().filter_map(|job| job.plan.lane.as_ref());
    let by_position = by_position.filter(|lane| lane.by_position).map(|lane| lane.id);
    let seen: BTreeMap<LaneId, i64> =
        by_position.filter_map(|lane| Some((lane, standings.get(&lane)?.seen?))).collect();
    tx.run_rows(
        "WITH v(lane, seen) AS ({rows})
         UPDATE lanes SET seen = v.seen FROM v WHERE lanes.lane = v.lane",
        vec![],
        vec![
            Column::Int(seen.keys().map(|lane| lane.0).collect()),
            Column::Int(seen.values().copied().collect()),
        ],
    )
    .await?;
    Ok(())
}

/// The head that a lane had before.
struct Head {
    id: JobId,
    rank: i64,
    place: i64,
    /// It has not been claimed, and its number has not been told to anybody.
    yields: bool,
}

/// The heads of the lanes that were not empty, where one who enters may come before one: by its
/// position, because it was there before, or before one that yields. Else nobody has to look.
async fn heads(
    tx: &mut Tx,
    jobs: &[Entering<'_>],
    standings: &BTreeMap<LaneId, Standing>,
    added: &BTreeMap<LaneId, i64>,
    superseded: &BTreeMap<LaneId, i64>,
) -> Result<BTreeMap<LaneId, Head>, StoreError> {
    let entered = |lane: &LaneId| added[lane] - superseded.get(lane).unwrap_or(&0);
    let early = |job: &Entering<'_>| {
        let lane = job.plan.lane.as_ref()?;
        (lane.by_position || job.kept.is_some()).then_some(lane.id)
    };
    let early: BTreeSet<LaneId> = jobs.iter().filter_map(early).collect();
    let others = standings.iter().filter(|(lane, standing)| {
        standing.open > entered(lane) && (standing.background || early.contains(lane))
    });
    let rows = tx
        .run_rows(
            "WITH v(lane) AS ({rows})
             SELECT j.lane, j.id, j.rank, j.place,
                CASE WHEN j.state = 'ready' AND (j.rank > 0 OR j.attempts = 0) THEN 1 ELSE 0 END
             FROM v JOIN jobs j ON j.lane = v.lane
                AND j.state IN ('ready', 'running', 'retrying')",
            vec![],
            vec![Column::Int(others.map(|(lane, _)| lane.0).collect())],
        )
        .await?;
    let head = |row: &super::conn::Row| {
        let (id, rank, place) = (JobId(row.int(1)?), row.int(2)?, row.int(3)?);
        Ok((LaneId(row.int(0)?), Head { id, rank, place, yields: row.flag(4)? }))
    };
    rows.iter().map(head).collect()
}

/// The first of the entering jobs of each lane that is not superseded, by its index.
fn firsts(jobs: &[Entering<'_>], entered: &[Entered]) -> BTreeMap<LaneId, usize> {
    let order = |at: usize| (jobs[at].rank, entered[at].place, jobs[at].id);
    let mut firsts: BTreeMap<LaneId, usize> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate() {
        let Some(lane) = job.plan.lane.as_ref() else { continue };
        if entered[at].state == State::Waiting {
            let first = firsts.entry(lane.id).or_insert(at);
            if order(at) < order(*first) {
                *first = at;
            }
        }
    }
    firsts
}

/// Heads that let others go first wait again, unless they were claimed meanwhile. Their numbers
/// are handed on. Returns their lanes.
async fn step_back(tx: &mut Tx, ids: Vec<i64>) -> Result<BTreeSet<LaneId>, StoreError> {
    let rows = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             UPDATE jobs SET state = 'waiting', due_us = NULL, sequence = NULL
             FROM v WHERE jobs.id = v.id AND jobs.state = 'ready' RETURNING jobs.lane",
            vec![],
            vec![Column::Int(ids)],
        )
        .await?;
    rows.iter().map(|row| row.int(0).map(LaneId)).collect()
}

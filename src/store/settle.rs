//! `settle`: the attempt, its effect and the lane's next job, in one transaction.
//!
//! Every write demands the lease's token. A settle that finds another token, or a job that no
//! longer runs, changes nothing and says so.

use super::alarms::{Cause, Note, note};
use super::conn::{Pools, Tx};
use super::error::StoreError;
use super::group::{Carried, Turn};
use super::lanes::{self, Change};
use super::promote::promote;
use super::record::notify;
use super::sql::{Arg, Column};
use super::wake::Due;
use crate::delivery::Micros;
use crate::job::{Attempt, Effect, JobId, LaneId, Lease, State, Value};
use crate::source::{Scope, Stop};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// One lease with what came of it.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The lease.
    pub lease: Lease,
    /// The attempt to record.
    pub attempt: Attempt,
    /// What to commit because of it.
    pub effect: Effect,
    /// Only if the lease has ended by then: a sweep must not take a job that is alive after all.
    pub expired_by_us: Option<Micros>,
    /// Routes of which a job may have waited for this one to end.
    pub frees: Arc<[Arc<str>]>,
}

/// Whether a settlement was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Committed.
    Done,
    /// Somebody else holds the job now, or it was called off: nothing was changed.
    LeaseLost,
}

/// Texts of destinations end up in a TEXT column: bounded, and without the NUL that PostgreSQL
/// refuses.
const DETAIL_CHARS: usize = 500;

/// Settles a batch in one transaction.
pub(super) async fn batch(
    pools: &Pools,
    settlements: &[Settlement],
    turn: &Turn,
    now_us: Micros,
) -> Result<Carried<Settled>, StoreError> {
    let mut tx = pools.begin().await?;
    let finishing = settlements.iter().filter(|s| finishes(&s.effect));
    lanes::lock(&mut tx, finishing.filter_map(|s| s.lease.lane)).await?;
    let held = move_jobs(&mut tx, settlements, now_us).await?;
    let kept: Vec<&Settlement> =
        settlements.iter().filter(|s| held.contains(&(s.lease.job, s.lease.token))).collect();
    insert_attempts(&mut tx, &kept).await?;
    for settlement in &kept {
        write_of_handler(&mut tx, settlement).await?;
        stop_lane_or_route(&mut tx, settlement, now_us).await?;
    }
    let mut due = advance_lanes(&mut tx, &kept, now_us).await?;
    for settlement in &kept {
        if let Effect::Retry { due_us } = settlement.effect {
            due.add(settlement.lease.route.clone(), due_us);
        }
        settlement.frees.iter().for_each(|route| due.add(route.clone(), now_us));
    }
    note(&mut tx, kept.iter().filter_map(|s| takeover(s)).collect(), now_us).await?;
    notify(&mut tx, &due).await?;
    let durable = tx.start_commit().await?;
    turn.pass();
    durable.wait().await?;
    let outputs = settlements
        .iter()
        .map(|s| {
            if held.contains(&(s.lease.job, s.lease.token)) {
                Settled::Done
            } else {
                Settled::LeaseLost
            }
        })
        .collect();
    Ok(Carried { outputs, due })
}

/// Whether the lane goes on to its next job.
fn finishes(effect: &Effect) -> bool {
    match effect {
        Effect::Succeed => true,
        Effect::Retry { .. } => false,
        Effect::Die { halt_lane, .. } | Effect::Doubt { halt_lane, .. } => !halt_lane,
    }
}

async fn move_jobs(
    tx: &mut Tx,
    settlements: &[Settlement],
    now_us: Micros,
) -> Result<HashSet<(JobId, i64)>, StoreError> {
    let (mut ids, mut tokens, mut states) = (Vec::new(), Vec::new(), Vec::new());
    let (mut due, mut settled, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    let (mut not_after, mut faults, mut probes) = (Vec::new(), Vec::new(), Vec::new());
    for settlement in settlements {
        let (state, due_us, probe_us) = match settlement.effect {
            Effect::Succeed => (State::Succeeded, None, None),
            Effect::Retry { due_us } => (State::Retrying, Some(due_us), None),
            Effect::Die { .. } => (State::Dead, None, None),
            Effect::Doubt { probe_us, .. } => (State::Uncertain, None, probe_us),
        };
        let is_over = matches!(state, State::Dead | State::Uncertain);
        faults.push(is_over.then(|| settlement.attempt.outcome.fault.word().to_owned()));
        probes.push(probe_us);
        ids.push(settlement.lease.job.0);
        tokens.push(settlement.lease.token);
        states.push(state.word().to_owned());
        due.push(due_us);
        settled.push(due_us.is_none().then_some(now_us));
        let failed = state != State::Succeeded;
        reasons.push(failed.then(|| bounded(&settlement.attempt.outcome.detail)));
        not_after.push(settlement.expired_by_us.unwrap_or(i64::MAX));
    }
    let rows = tx
        .run_rows(
            "WITH v(id, token, state, due_us, settled_us, reason, fault, probe_us, not_after_us)
                AS ({rows})
             UPDATE jobs SET state = v.state, due_us = v.due_us, settled_us = v.settled_us,
                reason = v.reason, fault = v.fault, probe_us = v.probe_us, lease_until_us = NULL,
                worker = NULL
             FROM v WHERE jobs.id = v.id AND jobs.token = v.token AND jobs.state = 'running'
                AND jobs.lease_until_us <= v.not_after_us
             RETURNING jobs.id, jobs.token",
            vec![],
            vec![
                Column::Int(ids),
                Column::Int(tokens),
                Column::Text(states),
                Column::OptInt(due),
                Column::OptInt(settled),
                Column::OptText(reasons),
                Column::OptText(faults),
                Column::OptInt(probes),
                Column::Int(not_after),
            ],
        )
        .await?;
    rows.iter().map(|row| Ok((JobId(row.int(0)?), row.int(1)?))).collect()
}

async fn insert_attempts(tx: &mut Tx, kept: &[&Settlement]) -> Result<(), StoreError> {
    let attempt = |read: fn(&Attempt) -> i64| kept.iter().map(|s| read(&s.attempt)).collect();
    tx.run_rows(
        "WITH v(job, n, outcome, status, started_us, ended_us, worker, detail, excerpt)
            AS ({rows})
         INSERT INTO attempts (job, n, outcome, status, started_us, ended_us, worker, detail,
            excerpt)
         SELECT * FROM v",
        vec![],
        vec![
            Column::Int(kept.iter().map(|s| s.lease.job.0).collect()),
            Column::Int(kept.iter().map(|s| s.lease.attempt).collect()),
            Column::Text(kept.iter().map(|s| s.attempt.outcome.class.word().into()).collect()),
            Column::OptInt(kept.iter().map(|s| s.attempt.outcome.status).collect()),
            Column::Int(attempt(|a| a.started_us)),
            Column::Int(attempt(|a| a.ended_us)),
            Column::Text(kept.iter().map(|s| s.attempt.worker.to_string()).collect()),
            Column::Text(kept.iter().map(|s| bounded(&s.attempt.outcome.detail)).collect()),
            Column::Blob(kept.iter().map(|s| s.attempt.outcome.excerpt.clone()).collect()),
        ],
    )
    .await?;
    Ok(())
}

async fn write_of_handler(tx: &mut Tx, settlement: &Settlement) -> Result<(), StoreError> {
    for write in &settlement.attempt.outcome.writes {
        let values = write.values.iter().cloned().map(|value| match value {
            Value::Int(value) => Arg::Int(value),
            Value::Text(value) => Arg::Text(value),
            Value::Blob(value) => Arg::Blob(value),
        });
        tx.run_foreign(&write.sql, values.collect()).await?;
    }
    Ok(())
}

async fn stop_lane_or_route(
    tx: &mut Tx,
    settlement: &Settlement,
    now_us: Micros,
) -> Result<(), StoreError> {
    let (halt_lane, pause_route) = match settlement.effect {
        Effect::Die { halt_lane, pause_route } => (halt_lane, pause_route),
        Effect::Doubt { halt_lane, .. } => (halt_lane, false),
        Effect::Succeed | Effect::Retry { .. } => return Ok(()),
    };
    if let (true, Some(lane)) = (halt_lane, settlement.lease.lane) {
        let args = vec![Arg::Int(lane.0), Arg::Int(settlement.lease.job.0)];
        tx.run("UPDATE lanes SET halted_by = $2 WHERE lane = $1", args).await?;
    }
    if pause_route {
        let reason = bounded(&settlement.attempt.outcome.detail);
        let route = Stop::new(Scope::Route, &settlement.lease.route);
        super::pause::insert(tx, &route, reason, now_us).await?;
    }
    Ok(())
}

/// Counts finished jobs out of their lanes, moves the watermarks and promotes the next ones.
async fn advance_lanes(
    tx: &mut Tx,
    kept: &[&Settlement],
    now_us: Micros,
) -> Result<Due, StoreError> {
    let mut changes: BTreeMap<LaneId, Change> = BTreeMap::new();
    for settlement in kept.iter().filter(|s| finishes(&s.effect)) {
        let lease = &settlement.lease;
        let Some(lane) = lease.lane else { continue };
        let succeeded = settlement.effect == Effect::Succeed;
        let done = lease.position.filter(|_| succeeded).map(|position| (position, lease.job));
        changes.insert(lane, Change::leaving(lease.route.clone(), done));
    }
    let standings = lanes::advance(tx, changes, now_us).await?;
    let behind = standings.into_iter().filter(|(_, standing)| standing.open > 0);
    promote(tx, behind.collect(), now_us).await
}

fn takeover(settlement: &Settlement) -> Option<Note> {
    settlement.expired_by_us?;
    let (lease, worker) = (&settlement.lease, &settlement.attempt.worker);
    let detail = format!("job {} was taken from worker {worker}", lease.job);
    Some(Note { cause: Cause::Takeover, subject: lease.route.to_string(), detail })
}

pub(super) fn bounded(text: &str) -> String {
    text.chars().filter(|c| *c != '\0').take(DETAIL_CHARS).collect()
}

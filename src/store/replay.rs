//! What operators do to jobs: replay, retry, cancel, pause. Each is recorded as an operation in
//! the same transaction.

use super::conn::{Row, StoreError, Tx};
use super::group::while_contended;
use super::lanes::{self, Change};
use super::pause;
use super::record::notify;
use super::sql::{Arg, Column};
use super::{Store, state};
use crate::delivery::{DeliveryId, Micros};
use crate::job::{JobId, LaneId, Planned, State};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A new job of a recorded delivery.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The delivery.
    pub delivery: DeliveryId,
    /// What it is about, for the lane.
    pub entity: Option<String>,
    /// Route and lane.
    pub plan: Planned,
    /// The job that it replays; `None` when the route had none.
    pub replays: Option<JobId>,
    /// A fresh random text that tells this run from every other.
    pub nonce: String,
}

/// What an operator's call on a job came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "state")]
pub enum Called {
    /// Carried out.
    Done,
    /// There is no such job.
    NotFound,
    /// Its state does not allow it.
    NotAllowed(State),
}

/// Replays take their turn after live jobs.
const REPLAY_RANK: i64 = 1;

impl Store {
    /// Makes new jobs, a batch in one transaction, and returns their ids in the same order.
    ///
    /// `None`: the route has a later job of the delivery by now, or one that is not finished. So
    /// two replays of the same list at once run everything once.
    pub async fn replay(&self, replays: &[Replayed]) -> Result<Vec<Option<JobId>>, StoreError> {
        while_contended(|| self.replay_once(replays)).await
    }

    async fn replay_once(&self, replays: &[Replayed]) -> Result<Vec<Option<JobId>>, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let mut existing = lock_jobs(&mut tx, replays).await?;
        let (mut ids, mut made) = (Vec::with_capacity(replays.len()), Vec::new());
        for replay in replays {
            let jobs = existing.entry(replay.delivery).or_default();
            let of_route = jobs.iter().filter(|(_, route, _)| *route == replay.plan.route);
            let latest = of_route.max_by_key(|(id, ..)| *id);
            let is_latest = latest.map(|(id, ..)| *id) == replay.replays;
            if !is_latest || latest.is_some_and(|(_, _, state)| state.is_open()) {
                ids.push(None);
                continue;
            }
            let n = jobs.iter().map(|(id, ..)| id.n() + 1).max().unwrap_or(0);
            if n >= JobId::PER_DELIVERY {
                let text = format!("delivery {} has as many jobs as it can have", replay.delivery);
                return Err(StoreError::Refused(text));
            }
            let id = JobId::new(replay.delivery, n);
            jobs.push((id, replay.plan.route.clone(), State::Ready));
            made.push((replay, id));
            ids.push(Some(id));
        }
        let routes = insert(&mut tx, &made, now_us).await?;
        for (replay, id) in &made {
            let detail = replay.replays.map_or_else(String::new, |old| format!("replays {old}"));
            operation(&mut tx, "replay", &id.to_string(), &detail, now_us).await?;
        }
        notify(&mut tx, &routes).await?;
        tx.commit().await?;
        self.wake.now(routes);
        Ok(ids)
    }

    /// Puts a dead job back, or lets a retrying one run now.
    pub async fn retry(&self, job: JobId) -> Result<Called, StoreError> {
        while_contended(|| self.retry_once(job)).await
    }

    async fn retry_once(&self, job: JobId) -> Result<Called, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let Some(found) = find(&mut tx, job).await? else { return Ok(Called::NotFound) };
        let routes = match found.state {
            State::Dead => {
                let reopened = lanes::reopen(&mut tx, &[job], now_us).await?;
                reopened.into_iter().map(|(_, route)| route).collect()
            }
            State::Retrying => {
                let args = vec![Arg::Int(job.0), Arg::Int(now_us)];
                tx.run("UPDATE jobs SET due_us = $2 WHERE id = $1 AND state = 'retrying'", args)
                    .await?;
                BTreeSet::from([found.route])
            }
            other => return Ok(Called::NotAllowed(other)),
        };
        operation(&mut tx, "retry", &job.to_string(), found.state.word(), now_us).await?;
        notify(&mut tx, &routes).await?;
        tx.commit().await?;
        self.wake.now(routes);
        Ok(Called::Done)
    }

    /// Calls a job off. Its lane goes on. A worker that is at it cannot settle it any more.
    pub async fn cancel(&self, job: JobId) -> Result<Called, StoreError> {
        while_contended(|| self.cancel_once(job)).await
    }

    async fn cancel_once(&self, job: JobId) -> Result<Called, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let Some(before) = find(&mut tx, job).await? else { return Ok(Called::NotFound) };
        // Lanes before jobs, as everywhere; what is found after that stays so.
        lanes::lock(&mut tx, before.lane).await?;
        let Some(found) = find_locked(&mut tx, job).await? else { return Ok(Called::NotFound) };
        if !found.state.moves().contains(&State::Cancelled) {
            return Ok(Called::NotAllowed(found.state));
        }
        let args = vec![Arg::Int(job.0), Arg::Int(now_us)];
        tx.run(
            "UPDATE jobs SET state = 'cancelled', due_us = NULL, lease_until_us = NULL,
                worker = NULL, settled_us = $2, reason = 'cancelled by an operator'
             WHERE id = $1",
            args,
        )
        .await?;
        let routes = lanes::leave(&mut tx, job, &found, now_us).await?;
        operation(&mut tx, "cancel", &job.to_string(), found.state.word(), now_us).await?;
        notify(&mut tx, &routes).await?;
        tx.commit().await?;
        self.wake.now(routes);
        Ok(Called::Done)
    }

    /// Stops a route: its jobs stay where they are.
    pub async fn pause(&self, route: &str, reason: &str) -> Result<(), StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        pause::insert(&mut tx, route, reason.to_owned(), now_us).await?;
        operation(&mut tx, "pause", route, reason, now_us).await?;
        tx.commit().await
    }

    /// Lets a route go on. `false` when it was not paused.
    pub async fn resume(&self, route: Arc<str>) -> Result<bool, StoreError> {
        let mut tx = self.pools.begin().await?;
        let was_paused = pause::remove(&mut tx, &route).await?;
        if was_paused {
            operation(&mut tx, "resume", &route, "", self.clock.now_us()).await?;
        }
        let routes = BTreeSet::from([route]);
        notify(&mut tx, &routes).await?;
        tx.commit().await?;
        self.wake.now(routes);
        Ok(was_paused)
    }
}

/// A job as far as an operator's call needs to know it.
pub(super) struct Found {
    pub(super) route: Arc<str>,
    pub(super) lane: Option<LaneId>,
    pub(super) state: State,
    pub(super) attempts: i64,
}

async fn find(tx: &mut Tx, job: JobId) -> Result<Option<Found>, StoreError> {
    let text = "SELECT route, lane, state, attempts FROM jobs WHERE id = $1";
    found(&tx.run(text, vec![Arg::Int(job.0)]).await?)
}

async fn find_locked(tx: &mut Tx, job: JobId) -> Result<Option<Found>, StoreError> {
    let text = "SELECT route, lane, state, attempts FROM jobs WHERE id = $1 {for_update}";
    found(&tx.run(text, vec![Arg::Int(job.0)]).await?)
}

fn found(rows: &[Row]) -> Result<Option<Found>, StoreError> {
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Found {
        route: row.text(0)?.into(),
        lane: row.opt_int(1)?.map(LaneId),
        state: state(&row.text(2)?)?,
        attempts: row.int(3)?,
    }))
}

type Jobs = Vec<(JobId, Arc<str>, State)>;

/// The jobs of deliveries. Locks the deliveries: of two replays, the second sees what the first
/// made.
async fn lock_jobs(
    tx: &mut Tx,
    replays: &[Replayed],
) -> Result<BTreeMap<DeliveryId, Jobs>, StoreError> {
    let ids: BTreeSet<i64> = replays.iter().map(|replay| replay.delivery.0).collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    tx.run_rows(
        "WITH v(id) AS ({rows})
         SELECT d.id FROM deliveries d WHERE d.id IN (SELECT id FROM v) ORDER BY d.id {for_update}",
        vec![],
        vec![Column::Int(ids.clone())],
    )
    .await?;
    let rows = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.id, j.route, j.state FROM v
             JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096",
            vec![],
            vec![Column::Int(ids)],
        )
        .await?;
    let mut jobs: BTreeMap<DeliveryId, Jobs> = BTreeMap::new();
    for row in &rows {
        let id = JobId(row.int(0)?);
        let job = (id, row.text(1)?.into(), state(&row.text(2)?)?);
        jobs.entry(id.delivery()).or_default().push(job);
    }
    Ok(jobs)
}

async fn insert(
    tx: &mut Tx,
    made: &[(&Replayed, JobId)],
    now_us: Micros,
) -> Result<BTreeSet<Arc<str>>, StoreError> {
    let mut routes = BTreeSet::new();
    for (replay, id) in made {
        let mut head = (true, None);
        if let Some(lane) = replay.plan.lane {
            let change = Change {
                route: replay.plan.route.clone(),
                entity: replay.entity.clone().unwrap_or_default(),
                delta: 1,
            };
            let standings = lanes::advance(tx, BTreeMap::from([(lane, change)]), now_us).await?;
            let standing = standings.get(&lane).filter(|standing| standing.open == 1);
            head = (standing.is_some(), standing.map(|standing| standing.sequence));
        }
        let (ready, sequence) = head;
        tx.run(
            "INSERT INTO jobs (id, route, lane, state, rank, due_us, sequence, created_us,
                since_us, replays, nonce)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)",
            vec![
                Arg::Int(id.0),
                Arg::Text(replay.plan.route.to_string()),
                Arg::OptInt(replay.plan.lane.map(|lane| lane.0)),
                Arg::Text(if ready { State::Ready } else { State::Waiting }.word().into()),
                Arg::Int(REPLAY_RANK),
                Arg::OptInt(ready.then_some(now_us)),
                Arg::OptInt(sequence),
                Arg::Int(now_us),
                Arg::OptInt(replay.replays.map(|old| old.0)),
                Arg::Text(replay.nonce.clone()),
            ],
        )
        .await?;
        if ready {
            routes.insert(replay.plan.route.clone());
        }
    }
    Ok(routes)
}

async fn operation(
    tx: &mut Tx,
    action: &str,
    subject: &str,
    detail: &str,
    now_us: Micros,
) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO operations (at_us, action, subject, detail) VALUES ($1, $2, $3, $4)",
        vec![
            Arg::Int(now_us),
            Arg::Text(action.into()),
            Arg::Text(subject.into()),
            Arg::Text(detail.into()),
        ],
    )
    .await?;
    Ok(())
}

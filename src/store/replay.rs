//! Replays: new jobs of recorded deliveries, linked to what they replay.

use super::conn::Tx;
use super::contended::while_contended;
use super::enter::{Entering, enter};
use super::error::StoreError;
use super::operate::operation;
use super::record::notify;
use super::sql::{Arg, Column};
use super::wake::Due;
use super::{Store, state};
use crate::delivery::{DeliveryId, Micros};
use crate::job::{JobId, Planned, State};
use providers::Position;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A new job of a recorded delivery.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Where it stands among those about the same entity.
    pub position: Position,
    /// Not to run before.
    pub earliest_us: Option<Micros>,
    /// Route and lane.
    pub plan: Planned,
    /// The job that it replays; `None` when the route had none.
    pub replays: Option<JobId>,
    /// A fresh random text that tells this run from every other.
    pub nonce: String,
}

/// Replays and jobs that are retried in bulk take their turn after live jobs.
pub(super) const BACKGROUND_RANK: i64 = 1;

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
        let due = insert(&mut tx, &made, now_us).await?;
        for (replay, id) in &made {
            let detail = replay.replays.map_or_else(String::new, |old| format!("replays {old}"));
            operation(&mut tx, "replay", &id.to_string(), &detail, now_us).await?;
        }
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
        Ok(ids)
    }
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
) -> Result<Due, StoreError> {
    let entering = made.iter().map(|(replay, id)| Entering {
        id: *id,
        plan: &replay.plan,
        position: replay.position,
        kept: None,
        rank: BACKGROUND_RANK,
        earliest_us: replay.earliest_us,
        insists: true,
    });
    let entered = enter(tx, &entering.collect::<Vec<_>>(), now_us).await?;
    let mut due = Due::default();
    for ((replay, id), entered) in made.iter().zip(entered) {
        tx.run(
            "INSERT INTO jobs (id, route, lane, state, rank, due_us, sequence, position, place,
                stale, earliest_us, created_us, since_us, replays, nonce)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14)",
            vec![
                Arg::Int(id.0),
                Arg::Text(replay.plan.route.to_string()),
                Arg::OptInt(replay.plan.lane.as_ref().map(|lane| lane.id.0)),
                Arg::Text(entered.state.word().into()),
                Arg::Int(BACKGROUND_RANK),
                Arg::OptInt(entered.due_us),
                Arg::OptInt(entered.sequence),
                Arg::OptInt(entered.position),
                Arg::Int(entered.place),
                Arg::Int(entered.stale.into()),
                Arg::OptInt(entered.earliest_us),
                Arg::Int(now_us),
                Arg::OptInt(replay.replays.map(|old| old.0)),
                Arg::Text(replay.nonce.clone()),
            ],
        )
        .await?;
        if let Some(due_us) = entered.due_us {
            due.add(replay.plan.route.clone(), due_us);
        }
    }
    Ok(due)
}

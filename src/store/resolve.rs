//! Doubts are resolved: by an operator, or by the destination when it is asked.

use super::Store;
use super::conn::Tx;
use super::contended::while_contended;
use super::error::StoreError;
use super::lanes::{self, Change};
use super::operate::{Called, Found, find, find_locked, operation};
use super::promote::promote;
use super::record::notify;
use super::reopen::{Again, reopen};
use super::sql::Arg;
use super::wake::Due;
use crate::delivery::Micros;
use crate::job::{JobId, Lease, Parcel, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an uncertain attempt turns out to have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// It happened.
    Succeeded,
    /// It did not, and is not to be tried again.
    Failed,
    /// It did not, or it may safely happen twice: once more.
    Retry,
}

impl Resolution {
    /// The word used in operations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Retry => "retry",
        }
    }
}

/// An uncertain job whose destination is to be asked now.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// The job.
    pub job: JobId,
    /// Its route.
    pub route: Arc<str>,
    /// The source's name and the provider's id of the delivery, for the idempotency key.
    pub parcel: Parcel,
    /// When the job became uncertain.
    pub settled_us: Micros,
}

impl Store {
    /// Resolves the doubt about a job. `by` says who knows: `operator` or `probe`. `halt_lane`:
    /// a lane that it halts goes on standing still if it failed.
    pub async fn resolve(
        &self,
        job: JobId,
        resolution: Resolution,
        halt_lane: bool,
        by: &str,
    ) -> Result<Called, StoreError> {
        while_contended(|| self.resolve_once(job, resolution, halt_lane, by)).await
    }

    async fn resolve_once(
        &self,
        job: JobId,
        resolution: Resolution,
        halt_lane: bool,
        by: &str,
    ) -> Result<Called, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let Some(before) = find(&mut tx, job).await? else { return Ok(Called::NotFound) };
        if before.state != State::Uncertain {
            // Before any lock: a claim steps over a job that is locked, and finds it late.
            return Ok(Called::NotAllowed(before.state));
        }
        lanes::lock(&mut tx, before.lane).await?;
        let Some(found) = find_locked(&mut tx, job).await? else { return Ok(Called::NotFound) };
        if found.state != State::Uncertain {
            return Ok(Called::NotAllowed(found.state));
        }
        let due = match resolution {
            Resolution::Retry => {
                reopen(&mut tx, State::Uncertain, &[Again::live(job)], now_us).await?.due
            }
            Resolution::Succeeded => {
                finish(&mut tx, job, State::Succeeded, now_us).await?;
                go_on(&mut tx, job, &found, Left { succeeded: true, halts: false }, now_us).await?
            }
            Resolution::Failed => {
                finish(&mut tx, job, State::Dead, now_us).await?;
                go_on(&mut tx, job, &found, Left { succeeded: false, halts: halt_lane }, now_us)
                    .await?
            }
        };
        let detail = format!("{} ({by})", resolution.word());
        operation(&mut tx, "resolve", &job.to_string(), &detail, now_us).await?;
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
        Ok(Called::Done)
    }

    /// Takes the uncertain jobs whose destination is to be asked now. Until `again_us` nobody
    /// else asks.
    pub async fn doubts(&self, again_us: Micros, count: i64) -> Result<Vec<Doubt>, StoreError> {
        let rows = self
            .pools
            .write_lazily(
                "WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE probe_us <= $1
                    ORDER BY probe_us LIMIT $3 {skip_locked})
                 UPDATE jobs SET probe_us = $2 FROM due WHERE jobs.id = due.id
                 RETURNING jobs.id, jobs.route, jobs.settled_us",
                vec![Arg::Int(self.clock.now_us()), Arg::Int(again_us), Arg::Int(count)],
            )
            .await?;
        let mut doubts = Vec::with_capacity(rows.len());
        for row in &rows {
            let job = JobId(row.int(0)?);
            let Some(delivery) = self.delivery(job.delivery()).await? else { continue };
            let parcel = Parcel {
                source: delivery.source,
                key: delivery.key,
                ..Parcel::nameless(job.delivery())
            };
            let settled_us = row.opt_int(2)?.unwrap_or_default();
            doubts.push(Doubt { job, route: row.text(1)?.into(), parcel, settled_us });
        }
        Ok(doubts)
    }

    /// Asks again at a time.
    pub async fn ask_again(&self, job: JobId, probe_us: Micros) -> Result<(), StoreError> {
        let args = vec![Arg::Int(job.0), Arg::Int(probe_us)];
        let text = "UPDATE jobs SET probe_us = $2 WHERE id = $1 AND state = 'uncertain'";
        self.pools.write_lazily(text, args).await.map(|_| ())
    }
}

impl Doubt {
    /// A lease of nothing, for what is made of a delivery's names.
    pub fn lease(&self) -> Lease {
        Lease::nameless(self.job, self.route.clone(), self.parcel.clone())
    }
}

async fn finish(tx: &mut Tx, job: JobId, state: State, now_us: Micros) -> Result<(), StoreError> {
    tx.run(
        "UPDATE jobs SET state = $2, settled_us = $3, probe_us = NULL,
            fault = CASE WHEN $2 = 'dead' THEN fault END,
            reason = CASE WHEN $2 = 'dead' THEN reason END
         WHERE id = $1 AND state = 'uncertain'",
        vec![Arg::Int(job.0), Arg::Text(state.word().into()), Arg::Int(now_us)],
    )
    .await?;
    Ok(())
}

/// How a job left its doubt: whether it succeeded, and whether its lane goes on standing still.
struct Left {
    succeeded: bool,
    halts: bool,
}

/// Moves the watermark of a job that succeeded after all, and lets its lane go on if it stood
/// still for it. The caller holds the lane's lock.
async fn go_on(
    tx: &mut Tx,
    job: JobId,
    found: &Found,
    left: Left,
    now_us: Micros,
) -> Result<Due, StoreError> {
    let Some(lane) = found.lane else { return Ok(Due::default()) };
    let halted = tx
        .run(
            "SELECT lane FROM lanes WHERE lane = $1 AND halted_by = $2",
            vec![Arg::Int(lane.0), Arg::Int(job.0)],
        )
        .await?;
    let leaves = !halted.is_empty() && !left.halts;
    if leaves {
        let args = vec![Arg::Int(lane.0)];
        tx.run("UPDATE lanes SET halted_by = NULL WHERE lane = $1", args).await?;
    }
    let done = found.position.filter(|_| left.succeeded).map(|position| (position, job));
    let mut change = Change::leaving(found.route.clone(), done);
    change.delta = if leaves { -1 } else { 0 };
    let standings = lanes::advance(tx, BTreeMap::from([(lane, change)]), now_us).await?;
    match leaves {
        true => promote(tx, standings, now_us).await,
        false => Ok(Due::default()),
    }
}

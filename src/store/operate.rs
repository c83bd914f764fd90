//! What operators do to single jobs: retry and cancel. Each is recorded as an operation in the
//! same transaction.

use super::conn::{Row, Tx};
use super::contended::while_contended;
use super::error::StoreError;
use super::record::notify;
use super::reopen::{Again, leave, reopen};
use super::sql::Arg;
use super::wake::Due;
use super::{Store, lanes, state};
use crate::delivery::Micros;
use crate::job::{JobId, LaneId, State};
use serde::Serialize;
use std::sync::Arc;

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

impl Store {
    /// Puts a dead job back, or lets a retrying one run now.
    pub async fn retry(&self, job: JobId) -> Result<Called, StoreError> {
        while_contended(|| self.retry_once(job)).await
    }

    async fn retry_once(&self, job: JobId) -> Result<Called, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let Some(found) = find(&mut tx, job).await? else { return Ok(Called::NotFound) };
        let due = match found.state {
            State::Dead => reopen(&mut tx, State::Dead, &[Again::live(job)], now_us).await?.due,
            State::Retrying => {
                let args = vec![Arg::Int(job.0), Arg::Int(now_us)];
                tx.run("UPDATE jobs SET due_us = $2 WHERE id = $1 AND state = 'retrying'", args)
                    .await?;
                let mut due = Due::default();
                due.add(found.route, now_us);
                due
            }
            other => return Ok(Called::NotAllowed(other)),
        };
        operation(&mut tx, "retry", &job.to_string(), found.state.word(), now_us).await?;
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
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
                worker = NULL, probe_us = NULL, fault = NULL,
                settled_us = $2, reason = 'cancelled by an operator'
             WHERE id = $1",
            args,
        )
        .await?;
        let due = leave(&mut tx, job, &found, now_us).await?;
        operation(&mut tx, "cancel", &job.to_string(), found.state.word(), now_us).await?;
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
        Ok(Called::Done)
    }
}

/// A job as far as an operator's call needs to know it.
pub(super) struct Found {
    pub(super) route: Arc<str>,
    pub(super) lane: Option<LaneId>,
    pub(super) state: State,
    pub(super) attempts: i64,
    pub(super) position: Option<i64>,
}

pub(super) async fn find(tx: &mut Tx, job: JobId) -> Result<Option<Found>, StoreError> {
    let text = "SELECT route, lane, state, attempts, position FROM jobs WHERE id = $1";
    found(&tx.run(text, vec![Arg::Int(job.0)]).await?)
}

pub(super) async fn find_locked(tx: &mut Tx, job: JobId) -> Result<Option<Found>, StoreError> {
    let text = "SELECT route, lane, state, attempts, position FROM jobs WHERE id = $1 {for_update}";
    found(&tx.run(text, vec![Arg::Int(job.0)]).await?)
}

fn found(rows: &[Row]) -> Result<Option<Found>, StoreError> {
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Found {
        route: row.text(0)?.into(),
        lane: row.opt_int(1)?.map(LaneId),
        state: state(&row.text(2)?)?,
        attempts: row.int(3)?,
        position: row.opt_int(4)?,
    }))
}

/// Writes down what an operator did.
pub(super) async fn operation(
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

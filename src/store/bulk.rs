//! Dead jobs are put back in bulk, at a bounded rate and behind live traffic.
//!
//! The rate is written into the ledger as the earliest time of each job, so it holds after a
//! restart and for all workers together.

use super::Store;
use super::contended::while_contended;
use super::error::StoreError;
use super::operate::operation;
use super::record::notify;
use super::reopen::{Again, reopen};
use super::replay::BACKGROUND_RANK;
use super::sql::Arg;
use crate::delivery::Micros;
use crate::job::{Fault, JobId, State};
use std::sync::Arc;

/// Which dead jobs to put back. Empty texts mean any.
#[derive(Clone, Debug, Default)]
pub struct DeadFilter {
    /// The route's name.
    pub route: String,
    /// The source's name.
    pub source: String,
    /// The kind; a final `*` stands for anything.
    pub kind: String,
    /// Whose fault it is.
    pub fault: Option<Fault>,
    /// Died at or after.
    pub since_us: Option<Micros>,
    /// Died before.
    pub until_us: Option<Micros>,
}

/// Jobs put back in one transaction.
const BATCH: i64 = 100;

impl Store {
    /// The next dead jobs of a filter after `after`, the oldest first.
    pub async fn dead(
        &self,
        filter: &DeadFilter,
        after: JobId,
    ) -> Result<Vec<(JobId, Arc<str>)>, StoreError> {
        let (kind, prefix) = match filter.kind.strip_suffix('*') {
            Some(prefix) => (String::new(), prefix.to_owned()),
            None => (filter.kind.clone(), String::new()),
        };
        let rows = self
            .pools
            .read(
                "SELECT j.id, j.route FROM jobs j JOIN deliveries d ON d.id = j.id / 4096
                 WHERE j.state = 'dead' AND j.id > $1 AND ($2 = '' OR j.route = $2)
                    AND ($3 = '' OR d.source = $3) AND ($4 = '' OR d.kind = $4)
                    AND ($5 = '' OR substr(d.kind, 1, length($5)) = $5)
                    AND ($6 = '' OR j.fault = $6)
                    AND j.settled_us >= $7 AND j.settled_us < $8
                    AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.id > j.id
                        AND r.id < (j.id / 4096) * 4096 + 4096 AND r.replays = j.id)
                 ORDER BY j.id LIMIT $9",
                vec![
                    Arg::Int(after.0),
                    Arg::Text(filter.route.clone()),
                    Arg::Text(filter.source.clone()),
                    Arg::Text(kind),
                    Arg::Text(prefix),
                    Arg::Text(filter.fault.map_or("", Fault::word).into()),
                    Arg::Int(filter.since_us.unwrap_or(0)),
                    Arg::Int(filter.until_us.unwrap_or(i64::MAX)),
                    Arg::Int(BATCH),
                ],
            )
            .await?;
        rows.iter().map(|row| Ok((JobId(row.int(0)?), row.text(1)?.into()))).collect()
    }

    /// Puts dead jobs back behind live ones, the first one at `from_us` and one every `step_us`.
    /// One that is not dead any more is left alone. Returns those that were put back.
    pub async fn retry_all(
        &self,
        jobs: &[JobId],
        from_us: Micros,
        step_us: i64,
    ) -> Result<Vec<JobId>, StoreError> {
        while_contended(|| self.retry_all_once(jobs, from_us, step_us)).await
    }

    async fn retry_all_once(
        &self,
        jobs: &[JobId],
        from_us: Micros,
        step_us: i64,
    ) -> Result<Vec<JobId>, StoreError> {
        let now_us = self.clock.now_us();
        let again = |(n, id): (i64, &JobId)| Again {
            id: *id,
            rank: BACKGROUND_RANK,
            earliest_us: Some(from_us.saturating_add(step_us.saturating_mul(n))),
            insists: false,
        };
        let wanted: Vec<Again> = (0..).zip(jobs).map(again).collect();
        let mut tx = self.pools.begin().await?;
        let reopened = reopen(&mut tx, State::Dead, &wanted, now_us).await?;
        for job in &reopened.jobs {
            operation(&mut tx, "retry", &job.to_string(), "in bulk", now_us).await?;
        }
        notify(&mut tx, &reopened.due).await?;
        tx.commit().await?;
        self.wake.due(reopened.due, now_us);
        Ok(reopened.jobs)
    }
}

//! Leases are prolonged while somebody is at work under them, and found when they have ended.

use super::conn::Pools;
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::job::{JobId, LaneId, Lease, Parcel};
use std::sync::Arc;

/// Prolongs leases and returns those that were still held.
pub(super) async fn extend(
    pools: &Pools,
    held: &[(JobId, i64)],
    lease_until_us: Micros,
) -> Result<Vec<JobId>, StoreError> {
    let rows = pools
        .write_rows_lazily(
            "WITH v(id, token) AS ({rows})
             UPDATE jobs SET lease_until_us = $1 FROM v
             WHERE jobs.id = v.id AND jobs.token = v.token AND jobs.state = 'running'
             RETURNING jobs.id",
            vec![Arg::Int(lease_until_us)],
            vec![
                Column::Int(held.iter().map(|(job, _)| job.0).collect()),
                Column::Int(held.iter().map(|(_, token)| *token).collect()),
            ],
        )
        .await?;
    rows.iter().map(|row| row.int(0).map(JobId)).collect()
}

/// A running job whose lease has ended.
#[derive(Clone, Debug)]
pub struct Expired {
    /// Enough of a lease to settle it in the place of the worker that is gone.
    pub lease: Lease,
    /// The worker that held it.
    pub worker: String,
}

/// Finds running jobs whose lease ended before `now_us`.
pub(super) async fn expired(
    pools: &Pools,
    now_us: Micros,
    count: i64,
) -> Result<Vec<Expired>, StoreError> {
    let rows = pools
        .read(
            "SELECT id, route, lane, attempts, token, since_us, tries, coalesce(worker, '')
             FROM jobs WHERE lease_until_us < $1 ORDER BY lease_until_us LIMIT $2",
            vec![Arg::Int(now_us), Arg::Int(count)],
        )
        .await?;
    let mut expired = Vec::with_capacity(rows.len());
    for row in &rows {
        let job = JobId(row.int(0)?);
        let lease = Lease {
            job,
            route: row.text(1)?.into(),
            lane: row.opt_int(2)?.map(LaneId),
            attempt: row.int(3)?,
            tries: row.int(6)?,
            token: row.int(4)?,
            since_us: row.int(5)?,
            entity: None,
            sequence: None,
            position: None,
            stale: false,
            rank: 0,
            nonce: None,
            claimed_us: now_us,
            delivery: Arc::new(Parcel::nameless(job.delivery())),
        };
        expired.push(Expired { lease, worker: row.text(7)? });
    }
    Ok(expired)
}

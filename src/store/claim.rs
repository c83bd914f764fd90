//! `claim`: ready jobs become running, under a lease.
//!
//! A claim looks only at the jobs that may run now, so its cost does not grow with what waits
//! behind the heads of lanes. It commits without waiting for the disk where the engine can: a
//! forgotten claim only means that the job is still ready.

use super::body;
use super::conn::{Pools, Row};
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::{DeliveryId, KeptHeaders, Micros};
use crate::job::{JobId, LaneId, Lease, Parcel};
use std::collections::HashMap;
use std::sync::Arc;

/// What to claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Jobs of this route.
    pub route: Arc<str>,
    /// The route's destination.
    pub destination: Arc<str>,
    /// At most so many.
    pub count: i64,
    /// The worker process.
    pub worker: Arc<str>,
    /// When the lease ends unless it is kept alive.
    pub lease_until_us: Micros,
}

/// Live jobs, then replays.
const RANKS: [i64; 2] = [0, 1];

/// Bodies up to this size come with the lease; larger ones are read one at a time, when their
/// turn has come, within the memory that the configuration allows.
const BODY_WITH_LEASE_BYTES: i64 = 64 * 1024;

pub(super) async fn claim(
    pools: &Pools,
    claim: &Claim,
    now_us: Micros,
) -> Result<Vec<Lease>, StoreError> {
    let mut rows = Vec::new();
    for rank in RANKS {
        let room = claim.count - rows.len() as i64;
        if room > 0 {
            let taken = take(pools, claim, rank, room, now_us).await?;
            rows.extend(taken.into_iter().map(|row| (rank, row)));
        }
    }
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids = rows.iter().map(|(_, row)| row.int(0).map(JobId));
    let ids: Vec<JobId> = ids.collect::<Result<_, _>>()?;
    let parcels = parcels(pools, ids.iter().map(|id| id.delivery()).collect()).await?;
    let mut leases = Vec::with_capacity(rows.len());
    for ((rank, row), job) in rows.into_iter().zip(ids) {
        let Some(parcel) = parcels.get(&job.delivery()) else { continue };
        leases.push(Lease {
            job,
            route: claim.route.clone(),
            lane: row.opt_int(1)?.map(LaneId),
            attempt: row.int(2)?,
            tries: row.int(7)?,
            token: row.int(3)?,
            since_us: row.int(4)?,
            entity: parcel.entity.clone(),
            sequence: row.opt_int(5)?,
            position: row.opt_int(8)?,
            stale: row.int(9)? == 1,
            rank,
            nonce: row.opt_text(6)?,
            claimed_us: now_us,
            delivery: parcel.clone(),
        });
    }
    leases.sort_by_key(|lease| lease.job);
    Ok(leases)
}

async fn take(
    pools: &Pools,
    claim: &Claim,
    rank: i64,
    room: i64,
    now_us: Micros,
) -> Result<Vec<Row>, StoreError> {
    pools
        .write_lazily(
            "WITH due AS MATERIALIZED (
                SELECT id FROM jobs WHERE route = $1 AND rank = $2 AND due_us <= $3
                    AND NOT EXISTS (SELECT 1 FROM pauses p
                        WHERE (p.scope = 'route' AND p.name = $1)
                        OR (p.scope = 'destination' AND p.name = $7))
                    AND (lane IS NULL OR lane NOT IN
                        (SELECT p.lane FROM pauses p WHERE p.lane IS NOT NULL))
                ORDER BY due_us, id LIMIT $4 {skip_locked})
             UPDATE jobs SET state = 'running', due_us = NULL, lease_until_us = $5, worker = $6,
                token = token + 1, attempts = attempts + 1, tries = tries + 1
             FROM due WHERE jobs.id = due.id
             RETURNING jobs.id, lane, attempts, token, since_us, sequence, nonce, tries, position,
                stale",
            vec![
                Arg::Text(claim.route.to_string()),
                Arg::Int(rank),
                Arg::Int(now_us),
                Arg::Int(room),
                Arg::Int(claim.lease_until_us),
                Arg::Text(claim.worker.to_string()),
                Arg::Text(claim.destination.to_string()),
            ],
        )
        .await
}

async fn parcels(
    pools: &Pools,
    ids: Vec<DeliveryId>,
) -> Result<HashMap<DeliveryId, Arc<Parcel>>, StoreError> {
    let rows = pools
        .read_rows(
            "WITH v(id) AS ({rows})
             SELECT d.id, d.source, d.key, d.kind, d.entity, d.occurred_us, d.received_us,
                d.headers, d.encoding, d.body_bytes,
                CASE WHEN length(d.body) <= $1 THEN d.body END
             FROM v JOIN deliveries d ON d.id = v.id",
            vec![Arg::Int(BODY_WITH_LEASE_BYTES)],
            vec![Column::Int(ids.iter().map(|id| id.0).collect())],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (encoding, body_bytes) = (row.text(8)?, row.int(9)?);
            let body = match row.opt_blob(10)? {
                Some(bytes) => body::unpack(&encoding, bytes, body_bytes)?,
                None => None,
            };
            let parcel = Parcel {
                id: DeliveryId(row.int(0)?),
                source: row.text(1)?,
                key: row.text(2)?,
                kind: row.text(3)?,
                entity: row.opt_text(4)?,
                occurred_us: row.opt_int(5)?,
                received_us: row.int(6)?,
                headers: KeptHeaders::from_bytes(&row.blob(7)?),
                body_bytes,
                forgotten: encoding == "forgotten",
                body,
            };
            Ok((parcel.id, Arc::new(parcel)))
        })
        .collect()
}

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

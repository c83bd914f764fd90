//! `claim`: ready jobs become running, under a lease.
//!
//! A claim looks only at the jobs that may run now, so its cost does not grow with what waits
//! behind the heads of lanes. It commits without waiting for the disk where the engine can: a
//! forgotten claim means that the job is still ready. Whoever held it may be alive, so a token is
//! never given again: it is the time of the claim, unless that is not later than the last token.

use super::body;
use super::conn::{Pools, Row, Tx};
use super::error::StoreError;
use super::limit::{self, Limits};
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
    /// Nothing is taken while the destination's circuit is not closed.
    pub circuit: bool,
    /// What all processes together may do to the destination, if it is bounded.
    pub limits: Option<Arc<Limits>>,
    /// At most so many.
    pub count: i64,
    /// At most so many of them that yield to live ones.
    pub background: i64,
    /// The worker process.
    pub worker: Arc<str>,
    /// When the lease ends unless it is kept alive.
    pub lease_until_us: Micros,
}

/// What was claimed.
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// The leases, in the order of their jobs.
    pub leases: Vec<Lease>,
    /// When to look again: there may be jobs for which there was no room yet.
    pub again_us: Option<Micros>,
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
) -> Result<Claimed, StoreError> {
    let (taken, again_us) = match &claim.limits {
        None => (take(&mut On::Pools(pools), claim, claim.count, now_us).await?, None),
        Some(limits) => limit::take_alone(pools, claim, limits, now_us).await?,
    };
    Ok(Claimed { leases: leases(pools, claim, taken, now_us).await?, again_us })
}

/// Makes leases of what was taken.
pub(super) async fn leases(
    pools: &Pools,
    claim: &Claim,
    taken: Vec<Taken>,
    now_us: Micros,
) -> Result<Vec<Lease>, StoreError> {
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let ids = taken.iter().map(|Taken(_, row)| row.int(0).map(JobId));
    let ids: Vec<JobId> = ids.collect::<Result<_, _>>()?;
    let parcels = parcels(pools, ids.iter().map(|id| id.delivery()).collect()).await?;
    let mut leases = Vec::with_capacity(taken.len());
    for (Taken(rank, row), job) in taken.into_iter().zip(ids) {
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

/// Where jobs are taken: in statements of their own, or within a transaction.
pub(super) enum On<'a> {
    Pools(&'a Pools),
    Tx(&'a mut Tx),
}

/// A job that runs now: its rank and its row.
pub(super) struct Taken(i64, Row);

/// Takes up to `count` jobs that may run now, live ones first.
pub(super) async fn take(
    on: &mut On<'_>,
    claim: &Claim,
    count: i64,
    now_us: Micros,
) -> Result<Vec<Taken>, StoreError> {
    let mut taken = Vec::new();
    for rank in RANKS {
        let room = count - taken.len() as i64;
        let room = if rank == 0 { room } else { room.min(claim.background) };
        if room > 0 {
            let rows = take_rank(on, claim, rank, room, now_us).await?;
            taken.extend(rows.into_iter().map(|row| Taken(rank, row)));
        }
    }
    Ok(taken)
}

async fn take_rank(
    on: &mut On<'_>,
    claim: &Claim,
    rank: i64,
    room: i64,
    now_us: Micros,
) -> Result<Vec<Row>, StoreError> {
    let text = "WITH due AS MATERIALIZED (
                SELECT id FROM jobs WHERE route = $1 AND rank = $2 AND due_us <= $3
                    AND NOT EXISTS (SELECT 1 FROM pauses p
                        WHERE (p.scope = 'route' AND p.name = $1)
                        OR (p.scope = 'destination' AND p.name = $7))
                    AND NOT EXISTS (SELECT 1 FROM circuits c WHERE c.destination = $8)
                    AND (lane IS NULL OR lane NOT IN
                        (SELECT p.lane FROM pauses p WHERE p.lane IS NOT NULL))
                ORDER BY due_us, id LIMIT $4 {skip_locked})
             UPDATE jobs SET state = 'running', due_us = NULL, lease_until_us = $5, worker = $6,
                token = {greatest}(token + 1, $3), attempts = attempts + 1, tries = tries + 1
             FROM due WHERE jobs.id = due.id
             RETURNING jobs.id, lane, attempts, token, since_us, sequence, nonce, tries, position,
                stale";
    // No destination has an empty name.
    let circuit = if claim.circuit { claim.destination.to_string() } else { String::new() };
    let args = vec![
        Arg::Text(claim.route.to_string()),
        Arg::Int(rank),
        Arg::Int(now_us),
        Arg::Int(room),
        Arg::Int(claim.lease_until_us),
        Arg::Text(claim.worker.to_string()),
        Arg::Text(claim.destination.to_string()),
        Arg::Text(circuit),
    ];
    match on {
        On::Pools(pools) => pools.write_lazily(text, args).await,
        On::Tx(tx) => tx.run(text, args).await,
    }
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

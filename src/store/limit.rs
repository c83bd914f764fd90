//! Claims for destinations with a rate or a bound on what runs at once, of all processes together.
//!
//! Such a claim is a transaction that holds the destination's row of `budgets` from the look at
//! what there is room for to the end: whatever it leaves untaken was never spent. It does not wait
//! for the row. Whoever holds it has it for a moment, or is paused, and a paused process must not
//! hold up the claims for other destinations.

use super::claim::{Claim, On, Taken, take};
use super::conn::{Pools, Tx};
use super::error::StoreError;
use super::sql::{Arg, Column};
use crate::delivery::Micros;
use crate::source::Rate;
use std::sync::Arc;

/// What all processes together may do to a destination.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Attempts a second.
    pub rate_per_s: Option<u32>,
    /// Attempts at once.
    pub concurrency: Option<u32>,
    /// All routes of the destination: their running jobs count together.
    pub routes: Vec<Arc<str>>,
}

/// When to try again after somebody else held the row: a claim takes a few milliseconds.
pub(super) const HELD_US: i64 = 10_000;

/// Takes jobs as far as there is room, in a transaction of its own.
pub(super) async fn take_alone(
    pools: &Pools,
    claim: &Claim,
    limits: &Limits,
    now_us: Micros,
) -> Result<(Vec<Taken>, Option<Micros>), StoreError> {
    let mut tx = pools.begin_lazily().await?;
    let taken = take_within(&mut tx, claim, limits, claim.count, now_us).await?;
    tx.commit().await?;
    Ok(taken)
}

/// Takes up to `count` jobs as far as there is room, and says when there may be room for more: a
/// time if the rate is used up, none if a job has to end first, which wakes the claimers.
pub(super) async fn take_within(
    tx: &mut Tx,
    claim: &Claim,
    limits: &Limits,
    count: i64,
    now_us: Micros,
) -> Result<(Vec<Taken>, Option<Micros>), StoreError> {
    let Some(next_us) = hold(tx, claim).await? else {
        return Ok((Vec::new(), Some(now_us + HELD_US)));
    };
    let mut room = count;
    if let Some(concurrency) = limits.concurrency {
        room = room.min(i64::from(concurrency) - running(tx, limits).await?);
    }
    let rate = limits.rate_per_s.map(Rate::per_second);
    let by_rate = rate.map_or(i64::MAX, |rate| rate.room(next_us, now_us));
    let taken = take(&mut On::Tx(tx), claim, room.min(by_rate), now_us).await?;
    let started = taken.len() as i64;
    let next_us = rate.map_or(next_us, |rate| rate.after(next_us, now_us, started));
    if rate.is_some() && started > 0 {
        let args = vec![Arg::Text(claim.destination.to_string()), Arg::Int(next_us)];
        tx.run("UPDATE budgets SET next_us = $2 WHERE destination = $1", args).await?;
    }
    let used_up = by_rate < room && started == by_rate;
    let again_us = rate.filter(|_| used_up).map(|rate| rate.again_us(next_us, now_us));
    Ok((taken, again_us))
}

/// Locks the row and reads it; makes it if there is none. `None` while another process has it.
async fn hold(tx: &mut Tx, claim: &Claim) -> Result<Option<Micros>, StoreError> {
    let destination = || vec![Arg::Text(claim.destination.to_string())];
    let text = "SELECT next_us FROM budgets WHERE destination = $1 {skip_locked}";
    if let Some(row) = tx.run(text, destination()).await?.first() {
        return row.int(0).map(Some);
    }
    let text = "INSERT INTO budgets (destination, next_us) VALUES ($1, 0)
        ON CONFLICT (destination) DO NOTHING RETURNING next_us";
    let made = tx.run(text, destination()).await?;
    made.first().map(|row| row.int(0)).transpose()
}

/// How many jobs of the destination run now, wherever.
async fn running(tx: &mut Tx, limits: &Limits) -> Result<i64, StoreError> {
    let routes = limits.routes.iter().map(|route| route.to_string()).collect();
    let rows = tx
        .run_rows(
            "WITH v(route) AS ({rows})
             SELECT count(*) FROM jobs
             WHERE lease_until_us IS NOT NULL AND route IN (SELECT v.route FROM v)",
            vec![],
            vec![Column::Text(routes)],
        )
        .await?;
    rows.first().map_or(Ok(0), |row| row.int(0))
}

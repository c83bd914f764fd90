//! Circuits of destinations: a row is one that is not closed, and no claim passes it.
//!
//! Only transitions write. A trial is fenced by the time until which its row is held: whoever
//! comes after that has written another one, and the late verdict finds nothing.

use super::Store;
use super::claim::{Claim, Claimed, On, leases, take};
use super::conn::Tx;
use super::error::StoreError;
use super::limit::{HELD_US, take_within};
use super::record::notify;
use super::settle::bounded;
use super::sql::Arg;
use super::wake::Due;
use crate::delivery::Micros;
use std::sync::Arc;

/// The right to try a destination with one job, and to say what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The destination.
    pub destination: Arc<str>,
    /// Until when nobody else tries.
    pub until_us: Micros,
    /// How often the circuit has opened since it was closed.
    pub opens: i64,
}

impl Store {
    /// Opens a closed circuit until a time. `false` if it was not closed any more. `routes` are
    /// those of the destination.
    pub async fn open_circuit(
        &self,
        destination: &str,
        until_us: Micros,
        reason: &str,
        routes: &[Arc<str>],
    ) -> Result<bool, StoreError> {
        let mut tx = self.pools.begin().await?;
        let opened = tx
            .run(
                "INSERT INTO circuits (destination, state, since_us, until_us, opens, reason)
                 VALUES ($1, 'open', $2, $3, 1, $4)
                 ON CONFLICT (destination) DO NOTHING RETURNING destination",
                vec![
                    Arg::Text(destination.to_owned()),
                    Arg::Int(self.clock.now_us()),
                    Arg::Int(until_us),
                    Arg::Text(bounded(reason)),
                ],
            )
            .await?;
        self.wake_at(tx, until_us, routes).await?;
        Ok(!opened.is_empty())
    }

    /// Takes one job past a circuit whose time has come, if nobody else does. No job: no trial.
    pub async fn claim_trial(
        &self,
        wanted: &Claim,
        until_us: Micros,
    ) -> Result<(Claimed, Option<Trial>), StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin_lazily().await?;
        let won = tx
            .run(
                "WITH free AS MATERIALIZED (SELECT destination FROM circuits
                    WHERE destination = $1 AND until_us <= $2 {skip_locked})
                 UPDATE circuits SET state = 'half_open', until_us = $3
                 FROM free WHERE circuits.destination = free.destination
                 RETURNING circuits.opens",
                vec![
                    Arg::Text(wanted.destination.to_string()),
                    Arg::Int(now_us),
                    Arg::Int(until_us),
                ],
            )
            .await?;
        let Some(row) = won.first() else {
            // Somebody else is at it; a moment later the row says until when.
            let again_us = Some(now_us + HELD_US);
            return Ok((Claimed { leases: Vec::new(), again_us }, None));
        };
        let (opens, destination) = (row.int(0)?, wanted.destination.clone());
        let past = Claim { circuit: false, ..wanted.clone() };
        let (taken, again_us) = match &past.limits {
            None => (take(&mut On::Tx(&mut tx), &past, 1, now_us).await?, None),
            Some(limits) => take_within(&mut tx, &past, limits, 1, now_us).await?,
        };
        if taken.is_empty() {
            return Ok((Claimed { leases: Vec::new(), again_us }, None));
        }
        tx.commit().await?;
        let leases = leases(&self.pools, &past, taken, now_us).await?;
        Ok((Claimed { leases, again_us }, Some(Trial { destination, until_us, opens })))
    }

    /// Goes on with a trial. `None` if somebody else has taken it over.
    pub async fn prolong_trial(
        &self,
        trial: &Trial,
        until_us: Micros,
    ) -> Result<Option<Trial>, StoreError> {
        let text = "UPDATE circuits SET until_us = $3 WHERE destination = $1 AND until_us = $2
            AND state = 'half_open' RETURNING destination";
        let mut args = held(trial);
        args.push(Arg::Int(until_us));
        let rows = self.pools.write_lazily(text, args).await?;
        Ok(rows.first().map(|_| Trial { until_us, ..trial.clone() }))
    }

    /// Ends a trial that showed nothing: the next job may try at once.
    pub async fn drop_trial(&self, trial: &Trial, routes: &[Arc<str>]) -> Result<(), StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let text = "UPDATE circuits SET state = 'open', until_us = $3 WHERE destination = $1
            AND until_us = $2 AND state = 'half_open'";
        let mut args = held(trial);
        args.push(Arg::Int(now_us));
        tx.run(text, args).await?;
        self.wake_at(tx, now_us, routes).await
    }

    /// Ends a trial that failed: nobody tries before a time. `false` if somebody else has taken
    /// the trial over.
    pub async fn reopen_circuit(
        &self,
        trial: &Trial,
        until_us: Micros,
        reason: &str,
        routes: &[Arc<str>],
    ) -> Result<bool, StoreError> {
        let mut tx = self.pools.begin().await?;
        let text = "UPDATE circuits SET state = 'open', until_us = $3, opens = opens + 1,
            reason = $4 WHERE destination = $1 AND until_us = $2 AND state = 'half_open'
            RETURNING destination";
        let mut args = held(trial);
        args.extend([Arg::Int(until_us), Arg::Text(bounded(reason))]);
        let rows = tx.run(text, args).await?;
        self.wake_at(tx, until_us, routes).await?;
        Ok(!rows.is_empty())
    }

    /// Ends a trial that succeeded: the circuit is closed. The answer is as for
    /// [`Store::reopen_circuit`].
    pub async fn close_circuit(
        &self,
        trial: &Trial,
        routes: &[Arc<str>],
    ) -> Result<bool, StoreError> {
        let mut tx = self.pools.begin().await?;
        let text = "DELETE FROM circuits WHERE destination = $1 AND until_us = $2
            AND state = 'half_open' RETURNING destination";
        let rows = tx.run(text, held(trial)).await?;
        self.wake_at(tx, self.clock.now_us(), routes).await?;
        Ok(!rows.is_empty())
    }

    /// Forgets the circuit of a destination that has none any more.
    pub async fn forget_circuit(&self, destination: &str) -> Result<(), StoreError> {
        let text = "DELETE FROM circuits WHERE destination = $1";
        self.pools.write_lazily(text, vec![Arg::Text(destination.to_owned())]).await.map(|_| ())
    }

    /// Commits, and lets all processes look for jobs of these routes at a time.
    async fn wake_at(
        &self,
        mut tx: Tx,
        at_us: Micros,
        routes: &[Arc<str>],
    ) -> Result<(), StoreError> {
        let mut due = Due::default();
        routes.iter().for_each(|route| due.add(route.clone(), at_us));
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, self.clock.now_us());
        Ok(())
    }
}

fn held(trial: &Trial) -> Vec<Arg> {
    vec![Arg::Text(trial.destination.to_string()), Arg::Int(trial.until_us)]
}

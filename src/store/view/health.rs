//! How much there is to do, what stands still, what was done, and whether the store works.

use super::rows::operation;
use super::shape::{Backlog, CircuitView, OperationView, PauseView};
use crate::clock::Time;
use crate::delivery::DeliveryId;
use crate::job::JobId;
use crate::store::error::StoreError;
use crate::store::sql::Arg;
use crate::store::{Store, state};
use std::collections::BTreeMap;

impl Store {
    /// What is paused.
    pub async fn pauses(&self) -> Result<Vec<PauseView>, StoreError> {
        let text = "SELECT scope, name, reason, since_us FROM pauses ORDER BY scope, name";
        let rows = self.pools.read(text, vec![]).await?;
        rows.iter()
            .map(|row| {
                let (name, reason) = (row.text(1)?, row.text(2)?);
                Ok(PauseView { scope: row.text(0)?, name, reason, since: Time(row.int(3)?) })
            })
            .collect()
    }

    /// The circuits that are not closed.
    pub async fn circuits(&self) -> Result<Vec<CircuitView>, StoreError> {
        let text = "SELECT destination, state, since_us, until_us, opens, reason FROM circuits
            ORDER BY destination";
        let rows = self.pools.read(text, vec![]).await?;
        rows.iter()
            .map(|row| {
                Ok(CircuitView {
                    destination: row.text(0)?,
                    state: row.text(1)?,
                    since: Time(row.int(2)?),
                    until: Time(row.int(3)?),
                    opens: row.int(4)?,
                    reason: row.text(5)?,
                })
            })
            .collect()
    }

    /// How many jobs run now, by route.
    pub async fn running(&self) -> Result<BTreeMap<String, i64>, StoreError> {
        let text = "SELECT route, count(*) FROM jobs WHERE lease_until_us IS NOT NULL
            GROUP BY route";
        let rows = self.pools.read(text, vec![]).await?;
        rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
    }

    /// What operators did, the latest first.
    pub async fn operations(&self, count: i64) -> Result<Vec<OperationView>, StoreError> {
        let text = "SELECT at_us, action, subject, detail FROM operations
            ORDER BY id DESC LIMIT $1";
        let rows = self.pools.read(text, vec![Arg::Int(count)]).await?;
        rows.iter().map(operation).collect()
    }

    /// What operators did to the jobs of a delivery, the first one first.
    pub async fn operations_on(&self, id: DeliveryId) -> Result<Vec<OperationView>, StoreError> {
        let text = "SELECT at_us, action, subject, detail FROM operations
            WHERE substr(subject, 1, length($1)) = $1 ORDER BY id";
        let rows = self.pools.read(text, vec![Arg::Text(format!("{id}-"))]).await?;
        rows.iter().map(operation).collect()
    }

    /// The job that a waiting one waits for: the head of its lane, or the dead one that halts it.
    pub async fn ahead_of(&self, id: JobId) -> Result<Option<JobId>, StoreError> {
        // Two looks, each by an index of its own.
        let text = "SELECT h.id FROM jobs j JOIN jobs h ON h.lane = j.lane
                AND h.state IN ('ready', 'running', 'retrying')
                WHERE j.id = $1 AND j.state = 'waiting'
            UNION ALL SELECT l.halted_by FROM jobs j JOIN lanes l ON l.lane = j.lane
                WHERE j.id = $1 AND j.state = 'waiting' AND l.halted_by IS NOT NULL";
        let rows = self.pools.read(text, vec![Arg::Int(id.0)]).await?;
        rows.first().map(|row| row.int(0).map(JobId)).transpose()
    }

    /// The number of the last migration.
    pub async fn schema_version(&self) -> Result<i64, StoreError> {
        let rows = self.pools.read("SELECT max(version) FROM _sqlx_migrations", vec![]).await?;
        rows.first().map_or(Ok(0), |row| row.int(0))
    }

    /// Counts what is to be done. Jobs that succeeded are not counted: the indexes of
    /// all others are small.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let rows = self
            .pools
            .read(
                "SELECT state, count(*) FROM jobs WHERE due_us IS NOT NULL GROUP BY state
                 UNION ALL SELECT 'running', count(*) FROM jobs WHERE lease_until_us IS NOT NULL
                 UNION ALL SELECT 'waiting', count(*) FROM jobs WHERE state = 'waiting'
                 UNION ALL SELECT 'dead', count(*) FROM jobs WHERE state = 'dead'
                 UNION ALL SELECT 'uncertain', count(*) FROM jobs WHERE state = 'uncertain'
                 UNION ALL SELECT 'superseded', count(*) FROM jobs WHERE state = 'superseded'",
                vec![],
            )
            .await?;
        let mut backlog = Backlog::default();
        for row in &rows {
            backlog.jobs.push((state(&row.text(0)?)?, row.int(1)?));
        }
        let rows = self
            .pools
            .read(
                "SELECT (SELECT min(due_us) FROM jobs WHERE due_us <= $1),
                    (SELECT count(*) FROM lanes WHERE halted_by IS NOT NULL)",
                vec![Arg::Int(self.clock.now_us())],
            )
            .await?;
        if let Some(row) = rows.first() {
            backlog.oldest_due_us = row.opt_int(0)?;
            backlog.halted_lanes = row.int(1)?;
        }
        Ok(backlog)
    }

    /// Proves that the store can be written to, by writing: a full disk is found only so.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let mut tx = self.pools.begin().await?;
        tx.run(
            "INSERT INTO probes (id, at_us) VALUES (1, $1)
             ON CONFLICT (id) DO UPDATE SET at_us = excluded.at_us",
            vec![Arg::Int(self.clock.now_us())],
        )
        .await?;
        tx.commit().await
    }
}

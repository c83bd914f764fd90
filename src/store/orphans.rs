//! Lanes that lost their head. No move of a job leaves one; this finds what nobody thought of.

use super::Store;
use super::error::StoreError;
use super::lanes::{self, returning_standing};
use super::promote::promote;
use super::sql::Arg;
use crate::job::LaneId;
use std::collections::{BTreeMap, BTreeSet};

impl Store {
    /// Heads lanes in which jobs wait behind nothing. Returns how many there were.
    pub async fn head_orphans(&self) -> Result<usize, StoreError> {
        let waiting = self.lanes("SELECT DISTINCT lane FROM jobs WHERE state = 'waiting'").await?;
        let due = "SELECT DISTINCT lane FROM jobs WHERE due_us IS NOT NULL AND lane IS NOT NULL";
        let headed = self.lanes(due).await?;
        let leased = "SELECT lane FROM jobs WHERE lease_until_us IS NOT NULL AND lane IS NOT NULL";
        let leased = self.lanes(leased).await?;
        let halted = self.lanes("SELECT lane FROM lanes WHERE halted_by IS NOT NULL").await?;
        let mut headed_now = 0;
        for lane in waiting {
            if headed.contains(&lane) || leased.contains(&lane) || halted.contains(&lane) {
                continue;
            }
            headed_now += usize::from(self.head(LaneId(lane)).await?);
        }
        Ok(headed_now)
    }

    async fn lanes(&self, text: &'static str) -> Result<BTreeSet<i64>, StoreError> {
        let rows = self.pools.read(text, vec![]).await?;
        rows.iter().map(|row| row.int(0)).collect()
    }

    /// Looks again under the lane's lock: the lists above were read one after the other.
    async fn head(&self, lane: LaneId) -> Result<bool, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        lanes::lock(&mut tx, [lane]).await?;
        let heads = tx
            .run(
                "SELECT id FROM jobs WHERE lane = $1 AND state IN ('ready', 'running', 'retrying')
                 UNION ALL SELECT halted_by FROM lanes WHERE lane = $1 AND halted_by IS NOT NULL",
                vec![Arg::Int(lane.0)],
            )
            .await?;
        if !heads.is_empty() {
            return Ok(false);
        }
        let rows = tx
            .run(
                concat!(
                    "UPDATE lanes SET sequence = sequence + 1, open = (SELECT count(*)
                        FROM jobs j WHERE j.lane = $1 AND j.state = 'waiting')
                     WHERE lane = $1",
                    returning_standing!()
                ),
                vec![Arg::Int(lane.0)],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let standing = BTreeMap::from([lanes::standing(row)?]);
        let due = promote(&mut tx, standing, now_us).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
        Ok(true)
    }
}

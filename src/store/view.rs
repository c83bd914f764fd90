//! What people and programs get to see of the ledger. Reads only, newest first, page by page.

mod health;
mod rows;
mod shape;

pub use shape::{
    AttemptView, Backlog, CircuitView, DeliveryFilter, DeliveryView, JobFilter, JobView,
    OperationView, Page, PauseView, QuarantineView, ReceiptView, RejectionView,
};

use super::conn::Pools;
use super::error::StoreError;
use super::sql::Arg;
use super::{Store, body};
use crate::delivery::DeliveryId;
use crate::job::{Fault, JobId, State};
use bytes::Bytes;
use rows::{attempt, delivery, job};

/// The state of a delivery is counted here in the order of `State::URGENCY`; a test holds it.
macro_rules! select_deliveries {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, d.source, d.key, d.kind, d.entity, d.received_us, d.occurred_us,
                d.sequence, d.coverage, d.fingerprint, d.repeats, d.conflicts, d.repeated_us,
                d.body_bytes, d.encoding, d.headers, d.secret, (SELECT min(CASE j.state
                    WHEN 'running' THEN 0 WHEN 'retrying' THEN 1 WHEN 'ready' THEN 2
                    WHEN 'waiting' THEN 3 WHEN 'uncertain' THEN 4 WHEN 'dead' THEN 5
                    WHEN 'cancelled' THEN 6 WHEN 'superseded' THEN 7 ELSE 8 END)
                    FROM jobs j WHERE j.id >= d.id * 4096 AND j.id < d.id * 4096 + 4096
                    AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.id > j.id
                        AND r.id < d.id * 4096 + 4096 AND r.replays = j.id))
             FROM deliveries d WHERE ",
            $rest
        )
    };
}

macro_rules! select_jobs {
    ($rest:literal) => {
        concat!(
            "SELECT j.id, d.source, d.key, d.kind, j.route,
                coalesce((SELECT l.entity FROM lanes l WHERE l.lane = j.lane), d.entity),
                j.state, j.attempts,
                j.sequence, j.due_us, j.lease_until_us, j.worker, j.created_us, j.settled_us,
                j.reason, j.replays,
                CASE WHEN EXISTS (SELECT 1 FROM lanes l
                    WHERE l.lane = j.lane AND l.halted_by = j.id) THEN 1 ELSE 0 END,
                j.fault, j.position, j.stale, j.superseded_by, j.probe_us
             FROM jobs j JOIN deliveries d ON d.id = j.id / 4096 WHERE ",
            $rest
        )
    };
}

impl Store {
    /// Lists deliveries.
    pub async fn deliveries(&self, f: &DeliveryFilter) -> Result<Page<DeliveryView>, StoreError> {
        let (kind, prefix) = match f.kind.strip_suffix('*') {
            Some(prefix) => (String::new(), prefix.to_owned()),
            None => (f.kind.clone(), String::new()),
        };
        let rows = self
            .pools
            .read(
                select_deliveries!(
                    "d.id < $1 AND ($2 = '' OR d.source = $2) AND ($3 = '' OR d.kind = $3)
                     AND ($4 = '' OR substr(d.kind, 1, length($4)) = $4)
                     AND ($5 = '' OR d.key = $5) AND d.received_us >= $6 AND d.received_us < $7
                     AND (($8 = '' AND $9 = '') OR EXISTS (SELECT 1 FROM jobs f
                        WHERE f.id >= d.id * 4096 AND f.id < d.id * 4096 + 4096
                        AND ($8 = '' OR f.state = $8) AND ($9 = '' OR f.route = $9)
                        AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.id > f.id
                            AND r.id < d.id * 4096 + 4096 AND r.replays = f.id)))
                     ORDER BY d.id DESC LIMIT $10"
                ),
                vec![
                    Arg::Int(f.before.map_or(i64::MAX, |id| id.0)),
                    Arg::Text(f.source.clone()),
                    Arg::Text(kind),
                    Arg::Text(prefix),
                    Arg::Text(f.key.clone()),
                    Arg::Int(f.since_us.unwrap_or(0)),
                    Arg::Int(f.until_us.unwrap_or(i64::MAX)),
                    Arg::Text(f.state.map_or("", State::word).into()),
                    Arg::Text(f.route.clone()),
                    Arg::Int(f.count),
                ],
            )
            .await?;
        let items = rows.iter().map(delivery).collect::<Result<Vec<_>, _>>()?;
        let full = items.len() as i64 == f.count;
        let next = items.last().filter(|_| full).map(|last| last.id.to_string());
        Ok(Page { items, next })
    }

    /// One delivery.
    pub async fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryView>, StoreError> {
        let rows = self.pools.read(select_deliveries!("d.id = $1"), vec![Arg::Int(id.0)]).await?;
        rows.first().map(delivery).transpose()
    }

    /// The jobs of a delivery, in the order they were made.
    pub async fn jobs_of(&self, id: DeliveryId) -> Result<Vec<JobView>, StoreError> {
        let args = vec![Arg::Int(JobId::new(id, 0).0)];
        let text = select_jobs!("j.id >= $1 AND j.id < $1 + 4096 ORDER BY j.id");
        self.pools.read(text, args).await?.iter().map(job).collect()
    }

    /// Lists jobs.
    pub async fn jobs(&self, f: &JobFilter) -> Result<Page<JobView>, StoreError> {
        let before = Arg::Int(f.before.map_or(i64::MAX, |id| id.0));
        let (route, count) = (Arg::Text(f.route.clone()), Arg::Int(f.count));
        let fault = Arg::Text(f.fault.map_or("", Fault::word).into());
        // Dead jobs have an index of their own, which only a constant can use.
        let rows = if f.state == Some(State::Dead) {
            let text = select_jobs!(
                "j.state = 'dead' AND j.id < $1 AND ($2 = '' OR j.route = $2)
                 AND ($4 = '' OR j.fault = $4) ORDER BY j.id DESC LIMIT $3"
            );
            self.pools.read(text, vec![before, route, count, fault]).await?
        } else {
            let text = select_jobs!(
                "j.id < $1 AND ($2 = '' OR j.route = $2) AND ($4 = '' OR j.state = $4)
                 AND ($5 = '' OR j.fault = $5) ORDER BY j.id DESC LIMIT $3"
            );
            let state = Arg::Text(f.state.map_or("", State::word).into());
            self.pools.read(text, vec![before, route, count, state, fault]).await?
        };
        let items = rows.iter().map(job).collect::<Result<Vec<_>, _>>()?;
        let full = items.len() as i64 == f.count;
        let next = items.last().filter(|_| full).map(|last| last.id.to_string());
        Ok(Page { items, next })
    }

    /// One job.
    pub async fn job(&self, id: JobId) -> Result<Option<JobView>, StoreError> {
        let rows = self.pools.read(select_jobs!("j.id = $1"), vec![Arg::Int(id.0)]).await?;
        rows.first().map(job).transpose()
    }

    /// The attempts of all jobs of a delivery, in the order of jobs and attempts.
    pub async fn attempts_of(&self, id: DeliveryId) -> Result<Vec<AttemptView>, StoreError> {
        let rows = self
            .pools
            .read(
                "SELECT job, n, outcome, status, started_us, ended_us, worker, detail, excerpt
                 FROM attempts WHERE job >= $1 AND job < $1 + 4096 ORDER BY job, n",
                vec![Arg::Int(JobId::new(id, 0).0)],
            )
            .await?;
        rows.iter().map(attempt).collect()
    }
}

pub(super) async fn body(pools: &Pools, id: DeliveryId) -> Result<Option<Bytes>, StoreError> {
    let text = "SELECT encoding, body, body_bytes FROM deliveries WHERE id = $1";
    let rows = pools.read(text, vec![Arg::Int(id.0)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    body::unpack(&row.text(0)?, row.blob(1)?, row.int(2)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_ranks_states_as_the_type_does() {
        let statement = select_deliveries!("");
        for (at, state) in State::URGENCY.iter().enumerate() {
            let ranked = format!("WHEN '{}' THEN {at}", state.word());
            let is_last = at + 1 == State::URGENCY.len();
            assert!(is_last || statement.contains(&ranked), "{ranked}");
        }
        assert!(statement.contains("ELSE 8"));
    }
}

//! What people and programs get to see of the ledger. Reads only, newest first, page by page.

use super::conn::{Pools, Row, StoreError};
use super::sql::Arg;
use super::{Store, body};
use crate::clock::Time;
use crate::delivery::{DeliveryId, KeptHeaders, Micros};
use crate::job::{JobId, State};
use bytes::Bytes;
use serde::Serialize;

/// Which deliveries to list. Empty texts mean any.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// The source's name.
    pub source: String,
    /// The kind; a final `*` stands for anything.
    pub kind: String,
    /// The dedup key, exactly.
    pub key: String,
    /// A state that one of its jobs has.
    pub state: Option<State>,
    /// A route that one of its jobs belongs to.
    pub route: String,
    /// Received at or after.
    pub since_us: Option<Micros>,
    /// Received before.
    pub until_us: Option<Micros>,
    /// Only older than this delivery: the cursor.
    pub before: Option<DeliveryId>,
    /// At most so many.
    pub count: i64,
}

/// Which jobs to list. Empty texts mean any.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// The route's name.
    pub route: String,
    /// The state.
    pub state: Option<State>,
    /// Only older than this job: the cursor.
    pub before: Option<JobId>,
    /// At most so many.
    pub count: i64,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    /// The rows, newest first.
    pub items: Vec<T>,
    /// Give this as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A delivery as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct DeliveryView {
    pub id: DeliveryId,
    pub source: String,
    pub key: String,
    pub kind: String,
    pub entity: Option<String>,
    pub state: Option<State>,
    pub received_at: Time,
    pub occurred_at: Option<Time>,
    pub position: Option<i64>,
    pub coverage: String,
    pub fingerprint: String,
    pub repeats: i64,
    pub conflicts: i64,
    pub repeated_at: Option<Time>,
    pub body_bytes: i64,
    pub body_kept: bool,
    pub headers: Vec<(String, String)>,
}

/// A job as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct JobView {
    pub id: JobId,
    pub delivery: DeliveryId,
    pub source: String,
    pub key: String,
    pub kind: String,
    pub route: String,
    pub entity: Option<String>,
    pub state: State,
    #[serde(rename = "attempt_count")]
    pub attempts: i64,
    pub sequence: Option<i64>,
    pub due_at: Option<Time>,
    pub lease_until: Option<Time>,
    pub worker: Option<String>,
    pub created_at: Time,
    pub settled_at: Option<Time>,
    pub reason: Option<String>,
    pub replays: Option<JobId>,
    pub halts_lane: bool,
}

/// An attempt as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct AttemptView {
    pub job: JobId,
    pub attempt: i64,
    pub outcome: String,
    pub status: Option<i64>,
    pub started_at: Time,
    pub ended_at: Time,
    pub worker: String,
    pub detail: String,
    pub answer: String,
}

/// Refused requests as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct RejectionView {
    pub source: String,
    pub reason: String,
    pub count: i64,
    pub first_at: Time,
    pub last_at: Time,
    pub detail: String,
}

/// A paused route as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct PauseView {
    pub route: String,
    pub reason: String,
    pub since: Time,
}

/// What an operator did, as shown.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the ledger, see migrations/README.md")]
pub struct OperationView {
    pub at: Time,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

/// How much there is to do.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// Jobs by state, for the states that are not the end, and dead.
    pub jobs: Vec<(State, i64)>,
    /// When the oldest job that could run now became due.
    pub oldest_due_us: Option<Micros>,
    /// Lanes that stand still behind a dead job.
    pub halted_lanes: i64,
}

macro_rules! select_deliveries {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, d.source, d.key, d.kind, d.entity, d.received_us, d.occurred_us,
                d.sequence, d.coverage, d.fingerprint, d.repeats, d.conflicts, d.repeated_us,
                d.body_bytes, d.encoding, d.headers, (SELECT min(CASE j.state
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
            "SELECT j.id, d.source, d.key, d.kind, j.route, d.entity, j.state, j.attempts,
                j.sequence, j.due_us, j.lease_until_us, j.worker, j.created_us, j.settled_us,
                j.reason, j.replays,
                CASE WHEN EXISTS (SELECT 1 FROM lanes l
                    WHERE l.lane = j.lane AND l.halted_by = j.id) THEN 1 ELSE 0 END
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
        // Dead jobs have an index of their own, which only a constant can use.
        let rows = if f.state == Some(State::Dead) {
            let text = select_jobs!(
                "j.state = 'dead' AND j.id < $1 AND ($2 = '' OR j.route = $2)
                 ORDER BY j.id DESC LIMIT $3"
            );
            self.pools.read(text, vec![before, route, count]).await?
        } else {
            let text = select_jobs!(
                "j.id < $1 AND ($2 = '' OR j.route = $2) AND ($4 = '' OR j.state = $4)
                 ORDER BY j.id DESC LIMIT $3"
            );
            let state = Arg::Text(f.state.map_or("", State::word).into());
            self.pools.read(text, vec![before, route, count, state]).await?
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

    /// Routes that are paused.
    pub async fn pauses(&self) -> Result<Vec<PauseView>, StoreError> {
        let text = "SELECT route, reason, since_us FROM pauses ORDER BY route";
        let rows = self.pools.read(text, vec![]).await?;
        rows.iter()
            .map(|row| {
                let since = Time(row.int(2)?);
                Ok(PauseView { route: row.text(0)?, reason: row.text(1)?, since })
            })
            .collect()
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
        // Three looks, each by an index of its own.
        let text = "SELECT h.id FROM jobs j JOIN jobs h ON h.lane = j.lane
                WHERE j.id = $1 AND j.state = 'waiting' AND h.state = 'running'
            UNION ALL SELECT l.halted_by FROM jobs j JOIN lanes l ON l.lane = j.lane
                WHERE j.id = $1 AND j.state = 'waiting' AND l.halted_by IS NOT NULL
            UNION ALL SELECT h.id FROM jobs j JOIN jobs h ON h.route = j.route
                AND h.due_us IS NOT NULL AND h.lane = j.lane
                WHERE j.id = $1 AND j.state = 'waiting'";
        let rows = self.pools.read(text, vec![Arg::Int(id.0)]).await?;
        rows.first().map(|row| row.int(0).map(JobId)).transpose()
    }

    /// The number of the last migration.
    pub async fn schema_version(&self) -> Result<i64, StoreError> {
        let rows = self.pools.read("SELECT max(version) FROM _sqlx_migrations", vec![]).await?;
        rows.first().map_or(Ok(0), |row| row.int(0))
    }

    /// Counts what is to be done. Only open and dead jobs are counted: their indexes are small.
    pub async fn backlog(&self) -> Result<Backlog, StoreError> {
        let rows = self
            .pools
            .read(
                "SELECT state, count(*) FROM jobs WHERE due_us IS NOT NULL GROUP BY state
                 UNION ALL SELECT 'running', count(*) FROM jobs WHERE lease_until_us IS NOT NULL
                 UNION ALL SELECT 'waiting', count(*) FROM jobs WHERE state = 'waiting'
                 UNION ALL SELECT 'dead', count(*) FROM jobs WHERE state = 'dead'",
                vec![],
            )
            .await?;
        let mut backlog = Backlog::default();
        for row in &rows {
            backlog.jobs.push((super::state(&row.text(0)?)?, row.int(1)?));
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

pub(super) async fn body(pools: &Pools, id: DeliveryId) -> Result<Option<Bytes>, StoreError> {
    let text = "SELECT encoding, body, body_bytes FROM deliveries WHERE id = $1";
    let rows = pools.read(text, vec![Arg::Int(id.0)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    body::unpack(&row.text(0)?, row.blob(1)?, row.int(2)?)
}

/// The states in the order of `State::summary`; the statement above counts them the same way.
const BY_URGENCY: [State; 9] = [
    State::Running,
    State::Retrying,
    State::Ready,
    State::Waiting,
    State::Uncertain,
    State::Dead,
    State::Cancelled,
    State::Superseded,
    State::Succeeded,
];

fn delivery(row: &Row) -> Result<DeliveryView, StoreError> {
    let headers = KeptHeaders::from_bytes(&row.blob(15)?).0.into_iter();
    let urgency = row.opt_small(16)?.and_then(|at| usize::try_from(at).ok());
    Ok(DeliveryView {
        id: DeliveryId(row.int(0)?),
        source: row.text(1)?,
        key: row.text(2)?,
        kind: row.text(3)?,
        entity: row.opt_text(4)?,
        state: urgency.and_then(|at| BY_URGENCY.get(at)).copied(),
        received_at: Time(row.int(5)?),
        occurred_at: row.opt_int(6)?.map(Time),
        position: row.opt_int(7)?,
        coverage: row.text(8)?,
        fingerprint: hex::encode(row.blob(9)?),
        repeats: row.int(10)?,
        conflicts: row.int(11)?,
        repeated_at: row.opt_int(12)?.map(Time),
        body_bytes: row.int(13)?,
        body_kept: row.text(14)? != "forgotten",
        headers: headers.map(|(name, value)| (name, value.escape_ascii().to_string())).collect(),
    })
}

fn job(row: &Row) -> Result<JobView, StoreError> {
    let id = JobId(row.int(0)?);
    Ok(JobView {
        id,
        delivery: id.delivery(),
        source: row.text(1)?,
        key: row.text(2)?,
        kind: row.text(3)?,
        route: row.text(4)?,
        entity: row.opt_text(5)?,
        state: super::state(&row.text(6)?)?,
        attempts: row.int(7)?,
        sequence: row.opt_int(8)?,
        due_at: row.opt_int(9)?.map(Time),
        lease_until: row.opt_int(10)?.map(Time),
        worker: row.opt_text(11)?,
        created_at: Time(row.int(12)?),
        settled_at: row.opt_int(13)?.map(Time),
        reason: row.opt_text(14)?,
        replays: row.opt_int(15)?.map(JobId),
        halts_lane: row.flag(16)?,
    })
}

fn operation(row: &Row) -> Result<OperationView, StoreError> {
    let (action, subject, detail) = (row.text(1)?, row.text(2)?, row.text(3)?);
    Ok(OperationView { at: Time(row.int(0)?), action, subject, detail })
}

fn attempt(row: &Row) -> Result<AttemptView, StoreError> {
    Ok(AttemptView {
        job: JobId(row.int(0)?),
        attempt: row.int(1)?,
        outcome: row.text(2)?,
        status: row.opt_int(3)?,
        started_at: Time(row.int(4)?),
        ended_at: Time(row.int(5)?),
        worker: row.text(6)?,
        detail: row.text(7)?,
        answer: String::from_utf8_lossy(&row.blob(8)?).into_owned(),
    })
}

//! Looks for what lasts and deserves an alarm: dead and uncertain jobs, halted lanes, circuits,
//! old jobs. Reads only.
//!
//! Nothing is counted to find out whether it is there: one look into an index a route. `min` and
//! ORDER BY on a column that no `=` binds hold PostgreSQL to that index; a bare LIMIT would make
//! it hope for the first rows of the table.

use super::{COUNT_MAX, Cause, Evidence, Subject};
use crate::clock::rfc3339;
use crate::delivery::Micros;
use crate::job::JobId;
use crate::store::Store;
use crate::store::conn::Row;
use crate::store::error::StoreError;
use crate::store::sql::{Arg, Column};
use std::sync::Arc;

/// The oldest job of a route that could run.
#[derive(Clone, Debug)]
pub struct Oldest {
    /// The route.
    pub route: Arc<str>,
    /// Since when it could run; `None` if there is none that is old enough.
    pub due_us: Option<Micros>,
    /// The route takes no jobs: it or its destination is paused, or a circuit is open.
    pub blocked: bool,
}

impl Store {
    /// All that is dead, uncertain, halted or cut off, whatever the configuration says.
    pub async fn standing(&self) -> Result<Vec<Subject>, StoreError> {
        // From one route to the next, and from one fault of it to the next.
        let text = "WITH RECURSIVE dead(route) AS (
                SELECT min(route) FROM jobs WHERE state = 'dead'
                UNION ALL SELECT (SELECT min(j.route) FROM jobs j
                    WHERE j.state = 'dead' AND j.route > dead.route)
                FROM dead WHERE dead.route IS NOT NULL),
             faults(route, fault) AS (
                SELECT dead.route, (SELECT min(j.fault) FROM jobs j
                    WHERE j.state = 'dead' AND j.route = dead.route)
                FROM dead WHERE dead.route IS NOT NULL
                UNION ALL SELECT faults.route, (SELECT min(j.fault) FROM jobs j
                    WHERE j.state = 'dead' AND j.route = faults.route AND j.fault > faults.fault)
                FROM faults WHERE faults.fault IS NOT NULL),
             doubts(route) AS (
                SELECT min(route) FROM jobs WHERE state = 'uncertain'
                UNION ALL SELECT (SELECT min(j.route) FROM jobs j
                    WHERE j.state = 'uncertain' AND j.route > doubts.route)
                FROM doubts WHERE doubts.route IS NOT NULL),
             halts(route) AS (
                SELECT min(route) FROM lanes WHERE halted_by IS NOT NULL
                UNION ALL SELECT (SELECT min(l.route) FROM lanes l
                    WHERE l.halted_by IS NOT NULL AND l.route > halts.route)
                FROM halts WHERE halts.route IS NOT NULL)
             SELECT 1, route || '/' || fault FROM faults WHERE fault IS NOT NULL
             UNION ALL SELECT 2, route FROM doubts WHERE route IS NOT NULL
             UNION ALL SELECT 3, route FROM halts WHERE route IS NOT NULL
             UNION ALL SELECT 4, destination FROM circuits";
        let rows = self.pools.read(text, vec![]).await?;
        let read = |row: &Row| {
            let cause = match row.opt_small(0)? {
                Some(1) => Cause::Dead,
                Some(2) => Cause::Uncertain,
                Some(3) => Cause::Halted,
                _ => Cause::Circuit,
            };
            Ok((cause, row.text(1)?))
        };
        rows.iter().map(read).collect()
    }

    /// How many there are of what `standing` found, and an example; `None` when it is over.
    pub async fn evidence(&self, about: &Subject) -> Result<Option<Evidence>, StoreError> {
        let (cause, subject) = about;
        let (route, fault) = subject.split_once('/').unwrap_or((subject, ""));
        let most = Arg::Int(COUNT_MAX);
        let (text, args) = match cause {
            Cause::Dead => (
                "WITH part AS (SELECT id, fault, reason FROM jobs WHERE state = 'dead'
                    AND route = $1 AND fault >= $2 ORDER BY fault LIMIT $3)
                 SELECT (SELECT count(*) FROM part WHERE fault = $2), id, coalesce(reason, '')
                 FROM part WHERE fault = $2 ORDER BY id DESC LIMIT 1",
                vec![Arg::Text(route.into()), Arg::Text(fault.into()), most],
            ),
            Cause::Uncertain => (
                "WITH part AS (SELECT id, route, reason FROM jobs WHERE state = 'uncertain'
                    AND route >= $1 ORDER BY route, id LIMIT $2)
                 SELECT (SELECT count(*) FROM part WHERE route = $1), id, coalesce(reason, '')
                 FROM part WHERE route = $1 ORDER BY id DESC LIMIT 1",
                vec![Arg::Text(subject.clone()), most],
            ),
            Cause::Halted => (
                "WITH part AS (SELECT route, entity, halted_by FROM lanes
                    WHERE halted_by IS NOT NULL AND route >= $1 ORDER BY route LIMIT $2)
                 SELECT (SELECT count(*) FROM part WHERE route = $1), halted_by, entity
                 FROM part WHERE route = $1 ORDER BY halted_by DESC LIMIT 1",
                vec![Arg::Text(subject.clone()), most],
            ),
            Cause::Circuit => (
                "SELECT opens, since_us, reason FROM circuits WHERE destination = $1",
                vec![Arg::Text(subject.clone())],
            ),
            Cause::Oldest | Cause::Silent | Cause::Conflict | Cause::Takeover => return Ok(None),
        };
        let rows = self.pools.read(text, args).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (number, words) = (row.int(1)?, row.text(2)?);
        let detail = match cause {
            Cause::Halted => format!("lane {words} stands still behind job {}", JobId(number)),
            Cause::Circuit => format!("open since {}: {words}", rfc3339(number)),
            _ => format!("job {}: {words}", JobId(number)),
        };
        Ok(Some(Evidence { about: about.clone(), count: row.int(0)?, detail }))
    }

    /// The oldest job of each route, given with its destination, that could run since before a
    /// time. Replays and bulk retries do not count: they wait behind live jobs on purpose.
    pub async fn oldest(
        &self,
        routes: &[(Arc<str>, Arc<str>)],
        before_us: Micros,
    ) -> Result<Vec<Oldest>, StoreError> {
        let text = "WITH v(route, destination) AS ({rows})
             SELECT v.route,
                (SELECT min(j.due_us) FROM jobs j
                    WHERE j.route = v.route AND j.rank = 0 AND j.due_us <= $1
                    AND (j.lane IS NULL OR j.lane NOT IN
                        (SELECT p.lane FROM pauses p WHERE p.lane IS NOT NULL))),
                CASE WHEN EXISTS (SELECT 1 FROM pauses p
                        WHERE (p.scope = 'route' AND p.name = v.route)
                        OR (p.scope = 'destination' AND p.name = v.destination))
                    OR EXISTS (SELECT 1 FROM circuits c WHERE c.destination = v.destination)
                THEN 1 ELSE 0 END
             FROM v";
        let names = routes.iter().map(|(name, to)| (name.to_string(), to.to_string()));
        let (names, destinations) = names.unzip();
        let columns = vec![Column::Text(names), Column::Text(destinations)];
        let rows = self.pools.read_rows(text, vec![Arg::Int(before_us)], columns).await?;
        let read = |row: &Row| {
            let route = row.text(0)?.into();
            Ok(Oldest { route, due_us: row.opt_int(1)?, blocked: row.flag(2)? })
        };
        rows.iter().map(read).collect()
    }
}

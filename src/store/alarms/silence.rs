//! When sources sent last, and how long they usually are silent. Reads only.

use crate::delivery::Micros;
use crate::store::Store;
use crate::store::conn::Row;
use crate::store::error::StoreError;
use crate::store::sql::{Arg, Column};
use std::sync::Arc;

/// When a source was heard of.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The source.
    pub source: Arc<str>,
    /// When its last delivery came; `None` if none is known.
    pub last_us: Option<Micros>,
    /// An operator has paused it.
    pub paused: bool,
}

impl Store {
    /// When each source was heard of last.
    pub async fn heard(&self, sources: &[Arc<str>]) -> Result<Vec<Heard>, StoreError> {
        let text = "WITH v(source) AS ({rows})
             SELECT v.source,
                (SELECT max(d.received_us) FROM deliveries d WHERE d.source = v.source),
                CASE WHEN EXISTS (SELECT 1 FROM pauses p
                    WHERE p.scope = 'source' AND p.name = v.source) THEN 1 ELSE 0 END
             FROM v";
        let names = Column::Text(sources.iter().map(ToString::to_string).collect());
        let rows = self.pools.read_rows(text, vec![], vec![names]).await?;
        let read = |row: &Row| {
            let source = row.text(0)?.into();
            Ok(Heard { source, last_us: row.opt_int(1)?, paused: row.flag(2)? })
        };
        rows.iter().map(read).collect()
    }

    /// Whether a source has sent so many deliveries since a time.
    pub async fn has_sent(
        &self,
        source: &str,
        since_us: Micros,
        count: i64,
    ) -> Result<bool, StoreError> {
        let text = "SELECT count(*) FROM (SELECT received_us FROM deliveries
            WHERE source = $1 AND received_us >= $2 ORDER BY received_us LIMIT $3) part";
        let args = vec![Arg::Text(source.into()), Arg::Int(since_us), Arg::Int(count)];
        let rows = self.pools.read(text, args).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.int(0))? >= count)
    }

    /// The first delivery of a source since a time, and the longest gap between two of them from
    /// there on, `least_us` at least; `None` without a delivery.
    ///
    /// It is not looked for from delivery to delivery: a step goes as far as the longest gap so
    /// far, and only where nothing is within that is there a longer one. So the steps are as many
    /// as `least_us` fits into the time, however many deliveries there are.
    pub async fn longest_gap(
        &self,
        source: &str,
        since_us: Micros,
        least_us: Micros,
    ) -> Result<Option<(Micros, Micros)>, StoreError> {
        let text = "WITH RECURSIVE walk(from_us, at_us, gap_us) AS (
                SELECT first.us, first.us, $3 FROM (SELECT min(received_us) AS us
                    FROM deliveries WHERE source = $1 AND received_us >= $2) first
                UNION ALL SELECT at_us,
                    coalesce(
                        (SELECT max(d.received_us) FROM deliveries d WHERE d.source = $1
                            AND d.received_us > walk.at_us
                            AND d.received_us <= walk.at_us + walk.gap_us),
                        (SELECT min(d.received_us) FROM deliveries d WHERE d.source = $1
                            AND d.received_us > walk.at_us)),
                    CASE WHEN at_us - from_us > gap_us THEN at_us - from_us ELSE gap_us END
                FROM walk WHERE at_us IS NOT NULL)
             SELECT min(from_us), max(gap_us) FROM walk";
        let args = vec![Arg::Text(source.into()), Arg::Int(since_us), Arg::Int(least_us)];
        let rows = self.pools.read(text, args).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(row.opt_int(0)?.zip(row.opt_int(1)?))
    }
}

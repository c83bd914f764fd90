//! Refused requests, counted by source and reason. A flood of them grows no table.

use super::error::StoreError;
use super::sql::{Arg, Column};
use super::{RejectionView, Store};

/// Refusals of one source for one reason since they were last written down.
#[derive(Clone, Debug)]
pub struct Refusals {
    /// The source's name.
    pub source: String,
    /// A label from a closed set, such as `signature`.
    pub reason: String,
    /// How many.
    pub count: i64,
    /// What the last one was refused for, in a sentence.
    pub detail: String,
}

impl Store {
    /// Adds to the counts.
    pub async fn refuse(&self, refusals: Vec<Refusals>) -> Result<(), StoreError> {
        let mut refusals = refusals;
        refusals.sort_by(|a, b| (&a.source, &a.reason).cmp(&(&b.source, &b.reason)));
        let mut tx = self.pools.begin().await?;
        tx.run_rows(
            "WITH v(source, reason, count, detail) AS ({rows})
             INSERT INTO rejections AS r (source, reason, count, first_us, last_us, detail)
             SELECT source, reason, count, $1, $1, detail FROM v WHERE true
             ON CONFLICT (source, reason) DO UPDATE SET count = r.count + excluded.count,
                last_us = excluded.last_us, detail = excluded.detail",
            vec![Arg::Int(self.clock.now_us())],
            vec![
                Column::Text(refusals.iter().map(|r| r.source.clone()).collect()),
                Column::Text(refusals.iter().map(|r| r.reason.clone()).collect()),
                Column::Int(refusals.iter().map(|r| r.count).collect()),
                Column::Text(refusals.iter().map(|r| r.detail.clone()).collect()),
            ],
        )
        .await?;
        tx.commit().await
    }

    /// The counts, the latest first.
    pub async fn rejections(&self) -> Result<Vec<RejectionView>, StoreError> {
        let rows = self
            .pools
            .read(
                "SELECT source, reason, count, first_us, last_us, detail FROM rejections
                 ORDER BY last_us DESC",
                vec![],
            )
            .await?;
        rows.iter()
            .map(|row| {
                Ok(RejectionView {
                    source: row.text(0)?,
                    reason: row.text(1)?,
                    count: row.int(2)?,
                    first_at: row.int(3)?.into(),
                    last_at: row.int(4)?.into(),
                    detail: row.text(5)?,
                })
            })
            .collect()
    }
}

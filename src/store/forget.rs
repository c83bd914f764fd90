//! What retention forgets, once it is decided and locked: bodies, attempts, whole deliveries and
//! idle lanes. It decides nothing.

use super::conn::Tx;
use super::error::StoreError;
use super::retain::Due;
use super::sql::{Arg, Column};
use crate::delivery::Micros;

/// Forgets what is due.
pub(super) async fn forget(tx: &mut Tx, due: Due) -> Result<(), StoreError> {
    let Due { bodies, attempts, deliveries } = due;
    tx.run_rows(
        "WITH v(id) AS ({rows})
         UPDATE deliveries SET encoding = 'forgotten', body = $1
         FROM v WHERE deliveries.id = v.id",
        vec![Arg::Blob(Vec::new())],
        vec![Column::Int(bodies)],
    )
    .await?;
    let all: Vec<i64> = attempts.iter().chain(&deliveries).copied().collect();
    tx.run_rows(
        "WITH v(id) AS ({rows})
         DELETE FROM attempts WHERE job IN (SELECT j.id FROM v
            JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096)",
        vec![],
        vec![Column::Int(all)],
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows})
         DELETE FROM jobs WHERE id IN (SELECT j.id FROM v
            JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096)",
        vec![],
        vec![Column::Int(deliveries.clone())],
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows}) DELETE FROM receipts WHERE delivery IN (SELECT id FROM v)",
        vec![],
        vec![Column::Int(deliveries.clone())],
    )
    .await?;
    tx.run_rows(
        "WITH v(id) AS ({rows}) DELETE FROM deliveries WHERE id IN (SELECT id FROM v)",
        vec![],
        vec![Column::Int(deliveries)],
    )
    .await?;
    Ok(())
}

/// Drops lanes that were idle for so long; how many.
pub(super) async fn drop_lanes(
    tx: &mut Tx,
    before_us: Micros,
    count: i64,
) -> Result<u64, StoreError> {
    let rows = tx
        .run(
            "DELETE FROM lanes WHERE lane IN (SELECT lane FROM lanes
                WHERE open = 0 AND halted_by IS NULL AND touched_us < $1 LIMIT $2)
                AND open = 0
             RETURNING lane",
            vec![Arg::Int(before_us), Arg::Int(count)],
        )
        .await?;
    Ok(rows.len() as u64)
}

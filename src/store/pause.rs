//! Paused routes: their jobs stay where they are, and no worker takes them.

use super::conn::Tx;
use super::error::StoreError;
use super::sql::Arg;
use crate::delivery::Micros;

/// Pauses a route. The first reason stays.
pub(super) async fn insert(
    tx: &mut Tx,
    route: &str,
    reason: String,
    now_us: Micros,
) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO pauses (route, reason, since_us) VALUES ($1, $2, $3)
         ON CONFLICT (route) DO NOTHING",
        vec![Arg::Text(route.into()), Arg::Text(reason), Arg::Int(now_us)],
    )
    .await?;
    Ok(())
}

/// Lets a route take jobs again. `false` when it was not paused.
pub(super) async fn remove(tx: &mut Tx, route: &str) -> Result<bool, StoreError> {
    let rows = tx
        .run("DELETE FROM pauses WHERE route = $1 RETURNING route", vec![Arg::Text(route.into())])
        .await?;
    Ok(!rows.is_empty())
}

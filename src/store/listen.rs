//! Hears of work that other processes recorded in the same PostgreSQL.

use super::wake::{Due, Wake};
use crate::clock::Clock;
use sqlx::postgres::{PgListener, PgPool};
use std::sync::Arc;
use std::time::Duration;

/// Wait before the next try to listen. The slow poll covers the gap.
const RECONNECT: Duration = Duration::from_secs(1);

/// Runs until the pool is closed.
pub(super) async fn run(pool: PgPool, wake: Arc<Wake>, clock: Clock) {
    while !pool.is_closed() {
        if let Err(error) = listen(&pool, &wake, &clock).await
            && !pool.is_closed()
        {
            tracing::warn!(%error, "lost the wake-ups of PostgreSQL; polling until they are back");
            tokio::time::sleep(RECONNECT).await;
        }
    }
}

async fn listen(pool: &PgPool, wake: &Wake, clock: &Clock) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen("posthouse_jobs").await?;
    loop {
        let notification = listener.recv().await?;
        wake.due(Due::heard(notification.payload()), clock.now_us());
    }
}

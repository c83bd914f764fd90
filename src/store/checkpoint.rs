//! Moves SQLite's write-ahead log into the database file, beside the writer.
//!
//! A passive checkpoint holds nobody up, but the log only starts over when all of it is moved
//! while nobody writes. So the bulk is moved beside the writer, and when the log has grown, the
//! little that is left is moved while the writer is held for a moment.

use super::open::checkpoint_options;
use super::sync::log_of;
use sqlx::sqlite::SqlitePool;
use sqlx::{Connection, Row, SqliteConnection};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Pages of log (4 KiB each) from which the bulk is moved. A page that changed ten times in the
/// log is moved once, so moving early costs more in all, and moving late makes one move longer.
const MOVE_PAGES: u64 = 1000;

/// Pages of log from which it is made to start over: 32 MiB.
const RESTART_PAGES: i64 = 8000;

/// How often the size of the log is looked at. A look is one `stat` call.
const LOOK: Duration = Duration::from_millis(20);

const PAGE_BYTES: u64 = 4096;

/// Runs until the writer's pool is closed.
pub(super) async fn run(writer: SqlitePool, database: Arc<Path>) {
    let log = log_of(&database);
    let mut mover: Option<SqliteConnection> = None;
    let mut moved_pages = 0;
    while !writer.is_closed() {
        tokio::time::sleep(LOOK).await;
        let pages = std::fs::metadata(&log).map_or(0, |found| found.len() / PAGE_BYTES);
        if pages < MOVE_PAGES {
            continue;
        }
        match step(&mut mover, &writer, &database, moved_pages).await {
            Ok(pages) => moved_pages = pages,
            Err(error) => {
                mover = None;
                tracing::warn!(%error, "could not checkpoint the SQLite log; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// One move. Returns the pages of the log that are in the database now.
async fn step(
    mover: &mut Option<SqliteConnection>,
    writer: &SqlitePool,
    database: &Path,
    moved_before: i64,
) -> Result<i64, sqlx::Error> {
    let connection = match mover {
        Some(connection) => connection,
        None => {
            let opened = SqliteConnection::connect_with(&checkpoint_options(database)).await?;
            mover.insert(opened)
        }
    };
    let row = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(connection).await?;
    let (logged, moved): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
    if logged >= RESTART_PAGES {
        let mut held = writer.acquire().await?;
        // Passive too: any other kind waits for whoever reads, and all commits would wait with it.
        // Once everything is moved, the next commit starts the log over by itself.
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(&mut *held).await?;
        return Ok(0);
    }
    if moved == moved_before {
        // Nothing new: do not spin over a log that has merely kept its size.
        tokio::time::sleep(LOOK * 5).await;
    }
    Ok(moved)
}

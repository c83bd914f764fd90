//! Opens a database, with the settings that the promises rest on, and brings it up to date.

use super::conn::Pools;
use super::error::StoreError;
use super::sync::LogSync;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a statement waits for a lock that another process holds. Long enough for a back-up
/// or an operator's shell, short enough that a provider still hears an answer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request may wait for a connection before the store counts as down.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a claim may stand still in its transaction. It takes milliseconds.
const CLAIM_IDLE: &str = "5s";

/// Prepared statements kept for each SQLite connection: a batch statement has a text of its own
/// for every number of rows.
const STATEMENTS: usize = 1024;

/// Rows that a SQLite connection hands over before somebody takes them. With few, its thread and
/// the one that takes them stop and start each other all the time.
const ROWS: usize = 1024;

/// Memory for pages, in KiB: most for the writer, which comes back to the same pages of the
/// indexes with every batch, little for each reader. Together they stay below 64 MiB.
const WRITER_CACHE_KIB: u32 = 16 * 1024;
const READER_CACHE_KIB: u32 = 4 * 1024;

/// Opens the database of a URL, creating a SQLite file that does not exist.
pub(super) async fn open(url: &str, connections: u32) -> Result<Pools, StoreError> {
    match url.strip_prefix("sqlite:") {
        Some(path) => sqlite(path.strip_prefix("//").unwrap_or(path), connections).await,
        None => postgres(url, connections).await,
    }
}

fn sqlite_options(path: &str, cache_kib: u32) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // As with FULL, nobody hears of a commit before the log is on the disk, but `sync` sees to
        // that, for many commits at once. NORMAL keeps what checkpoints rely on.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        .pragma("cache_size", format!("-{cache_kib}"))
        // A statement over many rows keeps what it may have to undo; in a file that cost a write
        // for every page.
        .pragma("temp_store", "MEMORY")
        // A checkpoint inside a commit would hold up every request behind it; `checkpoint` does
        // it beside the writer.
        .pragma("wal_autocheckpoint", "0")
        // The log is cut back to this once it was larger.
        .pragma("journal_size_limit", "67108864")
        .statement_cache_capacity(STATEMENTS)
        .row_buffer_size(ROWS)
        .disable_statement_logging()
}

/// A connection of its own for checkpoints.
pub(super) fn checkpoint_options(path: &Path) -> SqliteConnectOptions {
    sqlite_options(&path.to_string_lossy(), READER_CACHE_KIB)
}

async fn sqlite(path: &str, connections: u32) -> Result<Pools, StoreError> {
    let file = Path::new(path);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unavailable(format!("{}: {error}", folder.display())))?;
    }
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .after_release(|connection, _| Box::pin(is_usable(connection)))
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(sqlite_options(path, WRITER_CACHE_KIB))
        .await?;
    sqlx::migrate!("migrations/sqlite").run(&writer).await.map_err(migration)?;
    // SQLite keeps its log beside the file itself, wherever links to it may lie.
    let unusable = |error| StoreError::Unavailable(format!("{}: {error}", file.display()));
    let file = file.canonicalize().map_err(unusable)?;
    let log = LogSync::start(&file).map_err(unusable)?;
    log.ask().wait().await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .connect_with(sqlite_options(path, READER_CACHE_KIB).pragma("query_only", "1"))
        .await?;
    Ok(Pools::Sqlite { writer, readers, log, path: Arc::from(file) })
}

/// A full disk ends SQLite's transaction by itself, and the driver would believe for ever that it
/// goes on: such a connection is not used again.
async fn is_usable(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // A roll-back may still be on its way.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

async fn postgres(url: &str, connections: u32) -> Result<Pools, StoreError> {
    let options = PgConnectOptions::from_str(url)?
        .application_name("posthouse")
        .statement_cache_capacity(256)
        .disable_statement_logging();
    let suspect = Arc::new(AtomicBool::new(false));
    let pool = |commit: &'static str, idle: &'static str, count: u32| {
        let suspect = suspect.clone();
        PgPoolOptions::new()
            .max_connections(count)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .test_before_acquire(false)
            // After a failover the old connections may lead to a server that only reads: once a
            // write has failed, connections are not used again until one has succeeded.
            .after_release(move |_, _| {
                let keep = !suspect.load(Ordering::Relaxed);
                Box::pin(async move { Ok(keep) })
            })
            .connect_with(options.clone().options([
                ("synchronous_commit", commit),
                ("idle_in_transaction_session_timeout", idle),
                // What the locks are made for, whatever the database's own default is.
                ("default_transaction_isolation", "read committed"),
            ]))
    };
    let durable = pool("on", "0", connections).await?;
    // One for claims and one for heartbeats: they never wait for the disk. A process that is paused
    // in the middle of a claim must not keep the row of a destination for itself.
    let lazy = pool("off", CLAIM_IDLE, 2).await?;
    sqlx::migrate!("migrations/postgres").run(&durable).await.map_err(migration)?;
    Ok(Pools::Postgres { pool: durable, lazy, suspect })
}

fn migration(error: sqlx::migrate::MigrateError) -> StoreError {
    StoreError::Refused(format!("migration: {error}"))
}

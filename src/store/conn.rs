//! The two engines behind one face: pools and transactions.
//!
//! This file, `sql`, `bind` and `row` know both engines; a few others only ask whether the database
//! is shared. It never decides what a statement means.

use super::bind::{bind_postgres, bind_sqlite, postgres_query, sqlite_query};
use super::error::StoreError;
pub(crate) use super::row::Row;
use super::sql::{self, Arg, Column};
use super::sync::{Durable, LogSync};
use sqlx::postgres::{PgArguments, PgPool};
use sqlx::sqlite::{SqliteArguments, SqlitePool};
use sqlx::{AssertSqlSafe, Executor, Postgres, Sqlite, Transaction};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The pools of one engine.
#[derive(Clone)]
pub(crate) enum Pools {
    /// One writer, several readers, and what makes the writer's commits durable.
    Sqlite { writer: SqlitePool, readers: SqlitePool, log: LogSync, path: Arc<Path> },
    /// `lazy` commits without waiting for the disk: for claims, which may be forgotten.
    Postgres { pool: PgPool, lazy: PgPool, suspect: Arc<AtomicBool> },
}

/// A transaction. Dropped without a commit, it is rolled back.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>, LogSync),
    Postgres(Transaction<'static, Postgres>, Arc<AtomicBool>),
}

/// What a statement changed in SQLite.
pub(crate) struct Changed {
    /// So many rows.
    pub(crate) rows: u64,
    /// The number of the row that was inserted last, if any was.
    pub(crate) last: i64,
}

impl Pools {
    /// A transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            // IMMEDIATE: a lock taken late could not be waited for.
            Self::Sqlite { writer, log, .. } => {
                Tx::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?, log.clone())
            }
            Self::Postgres { pool, suspect, .. } => {
                Tx::Postgres(pool.begin().await?, suspect.clone())
            }
        })
    }

    /// A transaction whose loss in a crash of the machine would do no harm.
    pub(crate) async fn begin_lazily(&self) -> Result<Tx, StoreError> {
        match self {
            Self::Sqlite { .. } => self.begin().await,
            Self::Postgres { lazy, suspect, .. } => {
                Ok(Tx::Postgres(lazy.begin().await?, suspect.clone()))
            }
        }
    }

    /// One statement whose loss in a crash of the machine would do no harm.
    pub(crate) async fn write_lazily(
        &self,
        template: &'static str,
        args: Vec<Arg>,
    ) -> Result<Vec<Row>, StoreError> {
        self.write_rows_lazily(template, args, Vec::new()).await
    }

    /// The same, over a list of rows.
    pub(crate) async fn write_rows_lazily(
        &self,
        template: &'static str,
        args: Vec<Arg>,
        rows: Vec<Column>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            // Not lazily here: what it saw may not be durable yet, and somebody will act on it.
            Self::Sqlite { writer, log, .. } => {
                let found = on_sqlite(writer, template, args, rows).await?;
                log.ask().wait().await?;
                Ok(found)
            }
            Self::Postgres { lazy, .. } => on_postgres(lazy, template, args, rows).await,
        }
    }

    /// Reads outside a transaction.
    pub(crate) async fn read(
        &self,
        template: &'static str,
        args: Vec<Arg>,
    ) -> Result<Vec<Row>, StoreError> {
        self.read_rows(template, args, Vec::new()).await
    }

    /// Reads with a list of rows, outside a transaction.
    pub(crate) async fn read_rows(
        &self,
        template: &'static str,
        args: Vec<Arg>,
        rows: Vec<Column>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite { readers, .. } => on_sqlite(readers, template, args, rows).await,
            Self::Postgres { pool, .. } => on_postgres(pool, template, args, rows).await,
        }
    }
}

impl Tx {
    /// Runs a statement and returns its rows.
    pub(crate) async fn run(
        &mut self,
        template: &'static str,
        args: Vec<Arg>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run_rows(template, args, Vec::new()).await
    }

    /// Runs a statement over a list of rows. No rows: nothing is run.
    pub(crate) async fn run_rows(
        &mut self,
        template: &'static str,
        args: Vec<Arg>,
        rows: Vec<Column>,
    ) -> Result<Vec<Row>, StoreError> {
        if rows.first().is_some_and(|column| column.len() == 0) {
            return Ok(Vec::new());
        }
        match self {
            Self::Sqlite(tx, _) => {
                let mut found = Vec::new();
                for rows in sql::portions(rows) {
                    found.extend(on_sqlite(&mut **tx, template, args.clone(), rows).await?);
                }
                Ok(found)
            }
            Self::Postgres(tx, suspect) => {
                let answer = on_postgres(&mut **tx, template, args, rows).await;
                if let Err(StoreError::Unavailable(_)) = &answer {
                    suspect.store(true, Ordering::Relaxed);
                }
                answer
            }
        }
    }

    /// Runs a statement over a list of rows, at most [`sql::ROWS_MAX`], on SQLite: its answer is
    /// only what it changed.
    pub(crate) async fn change_rows(
        &mut self,
        template: &'static str,
        rows: Vec<Column>,
    ) -> Result<Changed, StoreError> {
        match self {
            Self::Sqlite(tx, _) => {
                let done = tx.execute(sqlite_query(template, Vec::new(), rows)?).await?;
                Ok(Changed { rows: done.rows_affected(), last: done.last_insert_rowid() })
            }
            Self::Postgres(..) => Err(StoreError::Refused("this statement is SQLite's".into())),
        }
    }

    /// Runs a statement that is not ours: a local handler's.
    pub(crate) async fn run_foreign(
        &mut self,
        text: &str,
        args: Vec<Arg>,
    ) -> Result<(), StoreError> {
        let text = AssertSqlSafe(text.to_owned());
        match self {
            Self::Sqlite(tx, _) => {
                let mut bound = SqliteArguments::default();
                args.into_iter().try_for_each(|arg| bind_sqlite(&mut bound, arg))?;
                tx.execute(sqlx::query_with(text, bound)).await?;
            }
            Self::Postgres(tx, _) => {
                let mut bound = PgArguments::default();
                args.into_iter().try_for_each(|arg| bind_postgres(&mut bound, arg))?;
                tx.execute(sqlx::query_with(text, bound)).await?;
            }
        }
        Ok(())
    }

    /// Whether several processes may be at work on this database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(..))
    }

    /// Makes it durable.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.start_commit().await?.wait().await
    }

    /// Commits without waiting for the disk, so that the next transaction may begin beside it.
    pub(crate) async fn start_commit(self) -> Result<Durable, StoreError> {
        match self {
            Self::Sqlite(tx, log) => {
                tx.commit().await?;
                Ok(log.ask())
            }
            Self::Postgres(tx, suspect) => Ok(Durable::after(async move {
                tx.commit().await?;
                suspect.store(false, Ordering::Relaxed);
                Ok(())
            })),
        }
    }
}

async fn on_sqlite<'c>(
    executor: impl Executor<'c, Database = Sqlite>,
    template: &'static str,
    args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Vec<Row>, StoreError> {
    let found = executor.fetch_all(sqlite_query(template, args, rows)?).await?;
    Ok(found.into_iter().map(Row::Sqlite).collect())
}

async fn on_postgres<'c>(
    executor: impl Executor<'c, Database = Postgres>,
    template: &'static str,
    args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Vec<Row>, StoreError> {
    let found = executor.fetch_all(postgres_query(template, args, rows)?).await?;
    Ok(found.into_iter().map(Row::Postgres).collect())
}

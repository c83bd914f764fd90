//! The two engines behind one face: pools, transactions, rows, errors.
//!
//! Only this file and `sql` know which engine runs. It never decides what a statement means.

use super::bind::{bind_column, bind_postgres, bind_rows, bind_sqlite};
use super::error::StoreError;
use super::sql::{self, Arg, Column, Slot};
use sqlx::postgres::{PgArguments, PgPool, PgRow};
use sqlx::sqlite::{SqliteArguments, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Executor, Postgres, Row as _, Sqlite, Transaction};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The pools of one engine.
#[derive(Clone)]
pub(crate) enum Pools {
    /// One writer, several readers.
    Sqlite { writer: SqlitePool, readers: SqlitePool, path: Arc<Path> },
    /// `lazy` commits without waiting for the disk: for claims, which may be forgotten.
    Postgres { pool: PgPool, lazy: PgPool, suspect: Arc<AtomicBool> },
}

/// A transaction. Dropped without a commit, it is rolled back.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>, Arc<AtomicBool>),
}

/// One row of an answer, its columns by index.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! column {
    ($name:ident, $type:ty) => {
        pub(crate) fn $name(&self, index: usize) -> Result<$type, StoreError> {
            Ok(match self {
                Self::Sqlite(row) => row.try_get_unchecked(index)?,
                Self::Postgres(row) => row.try_get(index)?,
            })
        }
    };
}

impl Row {
    column!(int, i64);
    column!(opt_int, Option<i64>);
    column!(text, String);
    column!(opt_text, Option<String>);
    column!(blob, Vec<u8>);
    column!(opt_blob, Option<Vec<u8>>);

    /// A number written in the statement: PostgreSQL's literals are 32 bits wide.
    pub(crate) fn opt_small(&self, index: usize) -> Result<Option<i64>, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get_unchecked(index)?,
            Self::Postgres(row) => row.try_get::<Option<i32>, _>(index)?.map(i64::from),
        })
    }

    /// A 0 or 1 written in the statement.
    pub(crate) fn flag(&self, index: usize) -> Result<bool, StoreError> {
        Ok(self.opt_small(index)? == Some(1))
    }
}

impl Pools {
    /// A transaction that may write.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            // IMMEDIATE: a lock taken late could not be waited for.
            Self::Sqlite { writer, .. } => Tx::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
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
            Self::Sqlite { writer, .. } => on_sqlite(writer, template, args, rows).await,
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
            Self::Sqlite(tx) => {
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

    /// Runs a statement that is not ours: a local handler's.
    pub(crate) async fn run_foreign(
        &mut self,
        text: &str,
        args: Vec<Arg>,
    ) -> Result<(), StoreError> {
        let text = AssertSqlSafe(text.to_owned());
        match self {
            Self::Sqlite(tx) => {
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
        match self {
            Self::Sqlite(tx) => tx.commit().await?,
            Self::Postgres(tx, suspect) => {
                tx.commit().await?;
                suspect.store(false, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

async fn on_sqlite<'c>(
    executor: impl Executor<'c, Database = Sqlite>,
    template: &'static str,
    mut args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Vec<Row>, StoreError> {
    let expanded = sql::for_sqlite(template, &rows);
    let mut bound = SqliteArguments::default();
    let mut rows = Some(rows);
    for (at, slot) in expanded.slots.iter().enumerate() {
        match slot {
            Slot::Rows => bind_rows(&mut bound, rows.take().unwrap_or_default())?,
            Slot::Arg(index) if expanded.slots[at + 1..].contains(slot) => {
                bind_sqlite(&mut bound, args[*index].clone())?;
            }
            Slot::Arg(index) => {
                bind_sqlite(&mut bound, std::mem::replace(&mut args[*index], Arg::Int(0)))?;
            }
        }
    }
    let found = executor.fetch_all(sqlx::query_with(expanded.safe(), bound)).await?;
    Ok(found.into_iter().map(Row::Sqlite).collect())
}

async fn on_postgres<'c>(
    executor: impl Executor<'c, Database = Postgres>,
    template: &'static str,
    args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Vec<Row>, StoreError> {
    let expanded = sql::for_postgres(template, args.len(), &rows);
    let mut bound = PgArguments::default();
    args.into_iter().try_for_each(|arg| bind_postgres(&mut bound, arg))?;
    rows.into_iter().try_for_each(|column| bind_column(&mut bound, column))?;
    let found = executor.fetch_all(sqlx::query_with(expanded.safe(), bound)).await?;
    Ok(found.into_iter().map(Row::Postgres).collect())
}

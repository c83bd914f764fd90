//! Gives values to the statements of each engine.

use super::error::StoreError;
use super::sql::{self, Arg, Column, Slot};
use sqlx::postgres::{PgArguments, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArguments};
use sqlx::{Arguments, query::Query};

/// A statement of ours for SQLite.
pub(super) fn sqlite_query(
    template: &'static str,
    mut args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Query<'static, Sqlite, SqliteArguments>, StoreError> {
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
    Ok(sqlx::query_with(expanded.safe(), bound))
}

/// A statement of ours for PostgreSQL.
pub(super) fn postgres_query(
    template: &'static str,
    args: Vec<Arg>,
    rows: Vec<Column>,
) -> Result<Query<'static, Postgres, PgArguments>, StoreError> {
    let expanded = sql::for_postgres(template, args.len(), &rows);
    let mut bound = PgArguments::default();
    args.into_iter().try_for_each(|arg| bind_postgres(&mut bound, arg))?;
    rows.into_iter().try_for_each(|column| bind_column(&mut bound, column))?;
    Ok(sqlx::query_with(expanded.safe(), bound))
}

fn encode(error: sqlx::error::BoxDynError) -> StoreError {
    StoreError::Refused(error.to_string())
}

pub(super) fn bind_sqlite(bound: &mut SqliteArguments, arg: Arg) -> Result<(), StoreError> {
    match arg {
        Arg::Int(value) => Arguments::add(bound, value),
        Arg::OptInt(value) => Arguments::add(bound, value),
        Arg::Text(value) => Arguments::add(bound, value),
        Arg::Blob(value) => Arguments::add(bound, value),
    }
    .map_err(encode)
}

pub(super) fn bind_postgres(bound: &mut PgArguments, arg: Arg) -> Result<(), StoreError> {
    match arg {
        Arg::Int(value) => bound.add(value),
        Arg::OptInt(value) => bound.add(value),
        Arg::Text(value) => bound.add(value),
        Arg::Blob(value) => bound.add(value),
    }
    .map_err(encode)
}

fn bind_column(bound: &mut PgArguments, column: Column) -> Result<(), StoreError> {
    match column {
        Column::Int(values) => bound.add(values),
        Column::OptInt(values) => bound.add(values),
        Column::Text(values) => bound.add(values),
        Column::OptText(values) => bound.add(values),
        Column::Blob(values) => bound.add(values),
    }
    .map_err(encode)
}

fn bind_rows(bound: &mut SqliteArguments, mut rows: Vec<Column>) -> Result<(), StoreError> {
    let count = rows.first().map_or(0, Column::len);
    for index in 0..count {
        for column in &mut rows {
            match column {
                Column::Int(values) => Arguments::add(bound, values[index]),
                Column::OptInt(values) => Arguments::add(bound, values[index]),
                Column::Text(values) => Arguments::add(bound, std::mem::take(&mut values[index])),
                Column::OptText(values) => {
                    Arguments::add(bound, std::mem::take(&mut values[index]))
                }
                Column::Blob(values) => Arguments::add(bound, std::mem::take(&mut values[index])),
            }
            .map_err(encode)?;
        }
    }
    Ok(())
}

//! Gives values to the statements of each engine.

use super::error::StoreError;
use super::sql::{Arg, Column};
use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;

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

pub(super) fn bind_column(bound: &mut PgArguments, column: Column) -> Result<(), StoreError> {
    match column {
        Column::Int(values) => bound.add(values),
        Column::OptInt(values) => bound.add(values),
        Column::Text(values) => bound.add(values),
        Column::OptText(values) => bound.add(values),
        Column::Blob(values) => bound.add(values),
    }
    .map_err(encode)
}

pub(super) fn bind_rows(
    bound: &mut SqliteArguments,
    mut rows: Vec<Column>,
) -> Result<(), StoreError> {
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

//! Rows of either engine.

use super::error::StoreError;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

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

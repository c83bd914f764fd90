//! A look into the database from outside, and sabotage of it.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use std::path::PathBuf;
use std::time::Duration;

/// Where a case keeps its ledger.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A URL.
    Postgres(String),
}

/// A connection of the test's own. What it locks stays locked until it is dropped.
pub enum Connected {
    /// To the file.
    Sqlite(SqliteConnection),
    /// To the server.
    Postgres(PgConnection),
}

impl Database {
    /// The URL as the configuration wants it.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// Connects.
    pub async fn connect(&self) -> Connected {
        match self {
            Self::Sqlite(path) => {
                let options = SqliteConnectOptions::new().filename(path);
                let options = options.busy_timeout(Duration::from_secs(10));
                let connection = SqliteConnection::connect_with(&options).await;
                Connected::Sqlite(connection.expect("the file opens"))
            }
            Self::Postgres(url) => {
                let connection = PgConnection::connect(url).await;
                Connected::Postgres(connection.expect("postgres takes connections"))
            }
        }
    }

    /// Runs statements.
    pub async fn run(&self, statements: &str) {
        self.connect().await.run(statements).await;
    }

    /// The one number that a query comes to.
    pub async fn number(&self, query: &str) -> i64 {
        self.connect().await.number(query).await
    }

    /// Everything in it, as text; bytes that are none are in hexadecimal. Nobody else may use it.
    pub async fn dump(&self) -> String {
        match self {
            // Small values stand in the file as they are.
            Self::Sqlite(path) => {
                self.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
                let bytes = std::fs::read(path).expect("the file is there");
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Self::Postgres(_) => {
                let mut connection = self.connect().await;
                let mut dump = String::new();
                for table in [
                    "deliveries",
                    "jobs",
                    "attempts",
                    "rejections",
                    "operations",
                    "quarantine",
                    "alarms",
                ] {
                    let query =
                        format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t");
                    dump += &connection.text(&query).await;
                }
                dump
            }
        }
    }

    /// How many bytes it takes.
    pub async fn size(&self) -> i64 {
        match self {
            Self::Sqlite(path) => {
                let log = format!("{}-wal", path.display());
                let bytes = |path| std::fs::metadata(path).map_or(0, |file| file.len());
                (bytes(path.display().to_string()) + bytes(log)).try_into().expect("not that many")
            }
            Self::Postgres(_) => self.number("SELECT pg_database_size(current_database())").await,
        }
    }
}

impl Connected {
    /// Runs statements.
    pub async fn run(&mut self, statements: &str) {
        let statements = AssertSqlSafe(statements);
        match self {
            Self::Sqlite(connection) => {
                sqlx::raw_sql(statements).execute(connection).await.map(|_| ())
            }
            Self::Postgres(connection) => {
                sqlx::raw_sql(statements).execute(connection).await.map(|_| ())
            }
        }
        .expect("the statements run");
    }

    /// The one number that a query comes to.
    pub async fn number(&mut self, query: &str) -> i64 {
        let query = AssertSqlSafe(query);
        match self {
            Self::Sqlite(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
            Self::Postgres(connection) => sqlx::query_scalar(query).fetch_one(connection).await,
        }
        .expect("the query comes to a number")
    }

    /// The one text that a query of PostgreSQL comes to.
    async fn text(&mut self, query: &str) -> String {
        let Self::Postgres(connection) = self else { panic!("this is for PostgreSQL") };
        let text = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(connection).await;
        text.expect("the query comes to a text")
    }
}

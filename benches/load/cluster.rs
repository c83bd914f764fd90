//! PostgreSQL for the measurements: the tests' throw-away cluster with PostgreSQL's own defaults,
//! and `pgbench` on it for comparison.

use crate::harness::database::Database;
use crate::harness::postgres::Cluster as Harness;
use crate::usage;
use anyhow::{Context, bail};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Puts back to PostgreSQL's defaults what the tests set otherwise. `fsync` and
/// `synchronous_commit` are on, as they are by default.
const DEFAULTS: [&str; 2] = ["shared_buffers=128MB", "autovacuum_naptime=1min"];

/// Clients of `pgbench`, and the bytes of the rows that it inserts.
const CLIENTS: &str = "64";
const ROW_BYTES: usize = 1024;

/// What `pgbench` does: one row, one transaction. The payload is bound, not parsed every time.
const SCRIPT: &str = "INSERT INTO rows (payload) VALUES (:payload);\n";

/// A cluster and what it takes to talk to it.
pub struct Cluster {
    harness: Harness,
    runtime: Runtime,
    /// The process that all others of the cluster are children of.
    pid: u32,
}

/// A database of a cluster, dropped with this.
pub struct Borrowed<'c> {
    cluster: &'c Cluster,
    pub url: String,
}

/// What `pgbench` reached.
pub struct Inserted {
    pub per_second: f64,
    /// CPU time of the cluster for each row, in microseconds.
    pub cpu_us: f64,
}

impl Cluster {
    /// Makes and starts one.
    pub fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let harness = Harness::with(&DEFAULTS);
        let query = "SELECT setting FROM pg_settings WHERE name = 'data_directory'";
        let directory: String = runtime.block_on(async {
            use sqlx::{Connection, PgConnection};
            let mut connection = PgConnection::connect(&harness.url("postgres")).await?;
            sqlx::query_scalar(query).fetch_one(&mut connection).await
        })?;
        let file = fs::read_to_string(PathBuf::from(directory).join("postmaster.pid"))?;
        let pid = file.lines().next().context("an empty postmaster.pid")?.trim().parse()?;
        Ok(Self { harness, runtime, pid })
    }

    /// A new, empty database. What earlier ones left to write is written before.
    pub fn database(&self) -> Borrowed<'_> {
        let url = self.runtime.block_on(async {
            self.harness.run("CHECKPOINT").await;
            self.harness.create_database().await
        });
        Borrowed { cluster: self, url }
    }

    /// CPU time of the whole cluster so far, in microseconds.
    pub fn cpu_us(&self) -> anyhow::Result<u64> {
        usage::family_cpu_us(self.pid)
    }

    /// The one number that a query comes to.
    pub fn number(&self, database: &Database, query: &str) -> i64 {
        self.runtime.block_on(database.number(query))
    }

    /// Which PostgreSQL it is.
    pub fn version(&self) -> anyhow::Result<String> {
        let output = Command::new(self.program("postgres")?).arg("--version").output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Lets `pgbench` insert rows, one a transaction, for whole seconds.
    pub fn pgbench(&self, length: Duration) -> anyhow::Result<Inserted> {
        let database = self.database();
        let create = "CREATE TABLE rows (id bigserial PRIMARY KEY, payload text NOT NULL)";
        self.runtime.block_on(Database::Postgres(database.url.clone()).run(create));
        let home = TempDir::new()?;
        let script = home.path().join("insert.sql");
        fs::write(&script, SCRIPT)?;
        let seconds = length.as_secs().max(1).to_string();
        let before_us = self.cpu_us()?;
        let mut pgbench = Command::new(self.program("pgbench")?);
        pgbench.args(["-n", "-M", "prepared", "-c", CLIENTS, "-j", "2", "-T", &seconds]);
        pgbench.arg("-D").arg(format!("payload={}", "x".repeat(ROW_BYTES)));
        let output = pgbench.arg("-f").arg(&script).arg(&database.url).output();
        let output = output.context("pgbench")?;
        let used_us = self.cpu_us()? - before_us;
        let text = String::from_utf8_lossy(&output.stdout);
        let after = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let figures = after("tps = ").zip(after("number of transactions actually processed: "));
        let Some((per_second, rows)) = figures.filter(|_| output.status.success()) else {
            bail!("pgbench: {text}{}", String::from_utf8_lossy(&output.stderr));
        };
        Ok(Inserted { per_second, cpu_us: used_us as f64 / rows })
    }

    /// A program of the version that runs.
    fn program(&self, name: &str) -> anyhow::Result<PathBuf> {
        let server = fs::read_link(format!("/proc/{}/exe", self.pid))?;
        Ok(server.with_file_name(name))
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let name = self.url.rsplit('/').next().unwrap_or_default();
        let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        self.cluster.runtime.block_on(self.cluster.harness.run(&drop));
    }
}

//! Starts the programs that are measured, each in a directory of its own on free ports, finds out
//! where they listen, and ends them.

use crate::harness::database::Database;
use crate::harness::guard;
use crate::request::SECRET;
use crate::usage::{self, Memory};
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a program may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Between two looks at what a program has printed.
const LOOK: Duration = Duration::from_millis(5);

/// What a program prints before the address it listens on.
const GREETING: &str = "receiving http://";

/// A running program. It is killed when dropped.
pub struct Server {
    child: Child,
    home: TempDir,
    store: Option<String>,
}

impl Server {
    /// The program under test as it starts without a configuration file, receiving only. `store`
    /// is the URL of a PostgreSQL database; without one it is SQLite, as by default.
    pub fn receiver(store: Option<&str>) -> anyhow::Result<Self> {
        let program = Path::new(env!("CARGO_BIN_EXE_posthouse"));
        Self::start(program, &["serve", "--role", "receiver"], &[], store)
    }

    /// This program in one of its hidden roles.
    pub fn own(
        arguments: &[&str],
        environment: &[(&str, &str)],
        store: Option<&str>,
    ) -> anyhow::Result<Self> {
        Self::start(&std::env::current_exe()?, arguments, environment, store)
    }

    fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        store: Option<&str>,
    ) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("posthouse-load-").tempdir()?;
        guard::remove_at_end(home.path());
        let mut command = Command::new(program);
        command.args(arguments).current_dir(home.path()).env_clear();
        command.env("GITHUB_WEBHOOK_SECRET", SECRET);
        command.env("POSTHOUSE__SERVER__LISTEN", "127.0.0.1:0");
        command.env("POSTHOUSE__ADMIN__LISTEN", "127.0.0.1:0");
        command.envs(store.map(|url| ("POSTHOUSE__STORE__URL", url)));
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped());
        command.stdout(File::create(home.path().join("out"))?);
        command.stderr(File::create(home.path().join("err"))?);
        let child = command.spawn().with_context(|| program.display().to_string())?;
        guard::stop_at_end(child.id());
        Ok(Self { child, home, store: store.map(str::to_owned) })
    }

    /// Waits until it listens; its public address.
    pub fn address(&mut self) -> anyhow::Result<SocketAddr> {
        let begun = Instant::now();
        loop {
            let out = self.printed("out");
            // Only whole lines: the program may be in the middle of one.
            let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if let Some(address) = whole.lines().find_map(|line| line.strip_prefix(GREETING)) {
                let address = address.split('/').next().unwrap_or_default();
                return address.parse().with_context(|| format!("an address: {address}"));
            }
            if self.child.try_wait()?.is_some() || begun.elapsed() > START_TIMEOUT {
                bail!("a server did not start: {out}{}", self.printed("err"));
            }
            thread::sleep(LOOK);
        }
    }

    /// Where its ledger is.
    pub fn database(&self) -> Database {
        match &self.store {
            Some(url) => Database::Postgres(url.clone()),
            None => Database::Sqlite(self.home.path().join("data/posthouse.db")),
        }
    }

    /// CPU time so far, in microseconds.
    pub fn cpu_us(&self) -> anyhow::Result<u64> {
        usage::cpu_us(self.child.id())
    }

    /// Resident memory.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        usage::memory(self.child.id())
    }

    /// Tells one of our own to finish, by closing its standard input, waits for its end, and
    /// returns the last line it printed.
    pub fn finish(mut self, limit: Duration) -> anyhow::Result<String> {
        drop(self.child.stdin.take());
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if begun.elapsed() > limit => bail!("a program did not end in {limit:?}"),
                None => thread::sleep(LOOK),
            }
        };
        let out = self.printed("out");
        if !status.success() {
            bail!("a program failed: {status}: {out}{}", self.printed("err"));
        }
        out.lines().last().map(str::to_owned).context("a program printed nothing")
    }

    fn printed(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(name)).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        guard::forget(self.child.id());
    }
}

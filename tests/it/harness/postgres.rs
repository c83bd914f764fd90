//! A throw-away PostgreSQL cluster from the installed programs.
//!
//! Ordinary tests share one, each with a database of its own. Tests that kill the server start one
//! of theirs. Durable as in production: fsync is on. A missing PostgreSQL fails every test that
//! needs one, with the command that installs it.

use super::guard;
use super::ledger::{PATIENCE, PAUSE};
use super::wire::free_port;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// Small, because there may be several at once; many connections, because tests run side by side.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=16MB",
    "max_connections=300",
    "fsync=on",
    "autovacuum_naptime=10s",
    "log_min_messages=warning",
];

/// A cluster and the server that runs it.
pub struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    owner: Option<User>,
    further: &'static [&'static str],
    port: u16,
    server: Mutex<Option<Child>>,
    databases: AtomicU32,
}

static SHARED: LazyLock<Arc<Cluster>> = LazyLock::new(|| Arc::new(Cluster::with(&[])));

impl Cluster {
    /// The one that ordinary tests share, started by the first of them.
    pub fn shared() -> Arc<Self> {
        SHARED.clone()
    }

    /// One that a test may kill. It takes a second or two to make.
    pub fn private() -> Arc<Self> {
        Arc::new(Self::with(&[]))
    }

    /// One with further settings, which override those of the tests.
    pub fn with(further: &'static [&'static str]) -> Self {
        let programs = programs();
        let directory = tempfile::Builder::new().prefix("posthouse-it-pg-").tempdir();
        let directory = directory.expect("a directory").keep();
        guard::remove_at_end(&directory);
        let owner = owner();
        if let Some(owner) = &owner {
            let (uid, gid) = (Some(owner.uid.as_raw()), Some(owner.gid.as_raw()));
            chown(&directory, uid, gid).expect("the directory is given away");
        }
        let (server, databases) = (Mutex::new(None), AtomicU32::new(0));
        let port = free_port();
        let cluster = Self { directory, programs, owner, further, port, server, databases };
        let mut initdb = cluster.program("initdb");
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
        let made = initdb.arg("-D").arg(cluster.data()).output().expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", text(&made));
        cluster.start();
        cluster
    }

    /// Starts the server and waits until it takes connections. Does nothing while it runs.
    pub fn start(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if server.is_some() {
            return;
        }
        let log = File::options().create(true).append(true).open(self.directory.join("log"));
        let log = log.expect("a log");
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        command.args(SETTINGS.iter().chain(self.further).flat_map(|setting| ["-c", setting]));
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        let child = server.insert(command.spawn().expect("postgres runs"));
        guard::stop_at_end(child.id());
        let begun = Instant::now();
        while !self.is_ready(child.id()) {
            let ended = child.try_wait().expect("its state is known");
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                panic!("postgres did not start: {log}");
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the server says so in the file by which `pg_ctl` knows it: its number is in the
    /// first line, its state in the eighth.
    fn is_ready(&self, pid: u32) -> bool {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let line = |index: usize| file.lines().nth(index).unwrap_or_default().trim();
        line(0) == pid.to_string() && line(7) == "ready"
    }

    /// Ends the server as a power cut would: no checkpoint, no goodbye. Waits for its end.
    pub fn crash(&self) {
        self.end(Signal::SIGQUIT);
    }

    /// Ends the server in an orderly way; connections are broken off. Waits for its end.
    pub fn stop(&self) {
        self.end(Signal::SIGINT);
    }

    fn end(&self, signal: Signal) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = server.take() else { return };
        let pid = Pid::from_raw(child.id().try_into().expect("a process id"));
        kill(pid, signal).expect("the server is there");
        child.wait().expect("the server ends");
        guard::forget(child.id());
    }

    /// A new, empty database; its URL.
    pub async fn create_database(&self) -> String {
        let name = format!("case_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run(&format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        self.url(&name)
    }

    /// Runs a statement as superuser, outside of the databases of the tests.
    pub async fn run(&self, statement: &str) {
        let connected = PgConnection::connect(&self.url("postgres")).await;
        let mut connection = connected.expect("postgres takes connections");
        let run = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await;
        run.expect("postgres takes the statement");
        let _ = connection.close().await;
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// A program of PostgreSQL, which refuses to be root.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.directory).env_clear().env("LC_ALL", "C");
        if let Some(owner) = &self.owner {
            command.uid(owner.uid.as_raw()).gid(owner.gid.as_raw());
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end(Signal::SIGQUIT);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Who runs PostgreSQL instead of root; `None` when nobody has to.
fn owner() -> Option<User> {
    let user = |name| User::from_name(name).ok().flatten();
    let instead = || user("postgres").or_else(|| user("nobody"));
    geteuid().is_root().then(|| instead().expect("there is a user postgres or nobody"))
}

/// The directory with `initdb` and `postgres`.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        candidates.push(PathBuf::from(text(&output).trim()));
    }
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    candidates.extend(versions.into_iter().rev().map(|(_, path)| path));
    let complete = |path: &&PathBuf| has(path, "initdb") && has(path, "postgres");
    let found = candidates.iter().find(complete).cloned();
    found.expect("PostgreSQL is missing: install it with `apt-get install postgresql`")
}

fn has(directory: &Path, program: &str) -> bool {
    directory.join(program).is_file()
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

//! The program itself: started, stopped, killed, paused, and what it says.

use super::ledger::{PATIENCE, PAUSE};
use super::world::World;
use super::{guard, sender};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How the program will be started. Its environment has nothing but what is said here.
#[derive(Clone)]
pub struct Launch {
    directory: PathBuf,
    config: Option<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// A server that runs.
pub struct Server {
    /// The listener that receives; a worker has none.
    pub public: Option<SocketAddr>,
    /// The listener of the admin API.
    pub admin: SocketAddr,
    launch: Launch,
    token: String,
    child: Child,
    output: Output,
    errors: Output,
}

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

/// What a program has written so far.
type Output = Arc<Mutex<String>>;

impl Launch {
    pub(super) fn new(world: &World, config: &str) -> Self {
        let mut launch = Self {
            directory: world.path().to_owned(),
            config: Some(config.to_owned()),
            arguments: Vec::new(),
            environment: Vec::new(),
        };
        for (name, secret) in sender::SECRETS {
            launch = launch.env(name, secret);
        }
        launch
            .env("POSTHOUSE__STORE__URL", &world.database.url())
            .env("POSTHOUSE__SERVER__LISTEN", "127.0.0.1:0")
            .env("POSTHOUSE__ADMIN__LISTEN", "127.0.0.1:0")
    }

    /// With an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(other, _)| other != name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without an environment variable.
    pub fn without_env(mut self, name: &str) -> Self {
        self.environment.retain(|(other, _)| other != name);
        self
    }

    /// Without a configuration file.
    pub fn without_file(mut self) -> Self {
        self.config = None;
        self
    }

    /// With another configuration file.
    pub fn config(mut self, config: &str) -> Self {
        self.config = Some(config.to_owned());
        self
    }

    /// With arguments instead of none.
    pub fn args<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments = arguments.map(str::to_owned).to_vec();
        self
    }

    /// In another directory, so that several can run in one world.
    pub fn within(mut self, name: &str) -> Self {
        self.directory.push(name);
        self
    }

    /// Starts a server and waits until it is ready.
    pub async fn serve(self) -> Server {
        let mut child = self.spawn();
        let (output, errors) = collect(&mut child);
        let begun = Instant::now();
        while !lines(&output).iter().any(|line| line.starts_with("ready")) {
            let ended = child.try_wait().expect("its state is known");
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("the server did not get ready: {}{}", text(&output), text(&errors));
            }
            tokio::time::sleep(PAUSE).await;
        }
        let said = |what: &str| {
            let found =
                lines(&output).iter().find_map(|line| Some(line.strip_prefix(what)?.to_owned()));
            found.map(|rest| rest.split(['/', ' ']).next().unwrap_or_default().to_owned())
        };
        let address = |what: &str| said(what).map(|text| text.parse().expect("an address"));
        let public = address("receiving http://");
        let admin = address("admin API http://").expect("the admin API is named");
        let file = lines(&output)
            .iter()
            .find_map(|line| Some(line.strip_prefix("admin token in ")?.to_owned()));
        let read =
            |path| std::fs::read_to_string(self.directory.join(path)).expect("the token is there");
        let token = file.map(read).unwrap_or_default().trim().to_owned();
        Server { public, admin, launch: self, token, child, output, errors }
    }

    /// Runs a command to its end.
    pub async fn run(self) -> Ran {
        let mut child = self.spawn();
        let (output, errors) = collect(&mut child);
        let status = ended(&mut child).await;
        // The pipes are at their ends only when the threads that read them have let them go.
        super::until("the output of the command", async || {
            (Arc::strong_count(&output) + Arc::strong_count(&errors) == 2).then_some(())
        })
        .await;
        Ran { code: status.code(), output: text(&output), errors: text(&errors) }
    }

    fn spawn(&self) -> Child {
        std::fs::create_dir_all(&self.directory).expect("the directory is there");
        if let Some(config) = &self.config {
            let file = self.directory.join("posthouse.toml");
            std::fs::write(file, config).expect("the configuration is written");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_posthouse"));
        command.current_dir(&self.directory).args(&self.arguments);
        command.env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        guard::stop_at_end(child.id());
        child
    }
}

impl Server {
    /// The admin token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where it receives.
    pub fn public(&self) -> SocketAddr {
        self.public.expect("it receives")
    }

    /// What it wrote to standard output.
    pub fn output(&self) -> String {
        text(&self.output)
    }

    /// What it wrote to standard error.
    pub fn errors(&self) -> String {
        text(&self.errors)
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A command-line client of this server.
    pub fn cli<const N: usize>(&self, arguments: [&str; N]) -> Launch {
        let launch = self.launch.clone().args(arguments);
        let public = self.public.unwrap_or(self.admin).to_string();
        let launch = launch.env("POSTHOUSE__SERVER__LISTEN", &public);
        launch.env("POSTHOUSE__ADMIN__LISTEN", &self.admin.to_string())
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().expect("a process id"));
        kill(pid, signal).expect("the server is there");
    }

    /// Kills it as `kill -9` does, and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        guard::forget(self.child.id());
    }

    /// Stops it with SIGTERM, and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let status = ended(&mut self.child).await;
        guard::forget(self.child.id());
        status
    }

    /// Starts it again on the same data, after it has ended, with ports of the kernel's choice.
    pub async fn restart(&mut self) {
        self.kill();
        let again = self.launch.clone().serve().await;
        *self = again;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- the server said:\n{}{}", self.output(), self.errors());
        }
    }
}

/// Waits for the end of a process.
async fn ended(child: &mut Child) -> ExitStatus {
    super::until("the program to end", async || child.try_wait().expect("its state is known")).await
}

/// Collects what a program writes, in threads that end with it.
fn collect(child: &mut Child) -> (Output, Output) {
    let output = follow(child.stdout.take().expect("a pipe"));
    let errors = follow(child.stderr.take().expect("a pipe"));
    (output, errors)
}

fn follow(pipe: impl Read + Send + 'static) -> Output {
    let output = Output::default();
    let writing = output.clone();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            lock(&writing).push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
    output
}

fn lock(output: &Output) -> MutexGuard<'_, String> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(output: &Output) -> String {
    lock(output).clone()
}

fn lines(output: &Output) -> Vec<String> {
    text(output).lines().map(str::to_owned).collect()
}

//! How the program is started, and what it says.

use super::ledger::{PATIENCE, PAUSE};
use super::server::Server;
use super::world::World;
use super::{guard, sender};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// How the program will be started. Its environment has nothing but what is said here.
#[derive(Clone)]
pub struct Launch {
    directory: PathBuf,
    config: Option<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    preparation: Option<String>,
    samples: bool,
}

/// The variable that tells the program of the tests' own that it is wanted.
pub(super) const SAMPLES: &str = "POSTHOUSE_IT_SAMPLES";

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
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<String>>);

impl Launch {
    pub(super) fn new(world: &World, config: &str) -> Self {
        let mut launch = Self {
            directory: world.path().to_owned(),
            config: Some(config.to_owned()),
            arguments: Vec::new(),
            environment: Vec::new(),
            preparation: None,
            samples: false,
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

    /// With these arguments, however many.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self
    }

    /// By a shell, after it has run a line. What it does not export, it still hands on: limits, and
    /// which signals are ignored.
    pub fn after(mut self, line: &str) -> Self {
        self.preparation = Some(line.to_owned());
        self
    }

    /// By the tests' own program when it serves: its sources `sample..` have the sender of
    /// `samples`.
    pub fn with_samples(mut self) -> Self {
        self.samples = true;
        self.env(SAMPLES, "1")
    }

    /// In another directory, so that several can run in one world.
    pub fn within(mut self, name: &str) -> Self {
        self.directory.push(name);
        self
    }

    /// Starts a server and waits until it is ready.
    pub async fn serve(self) -> Server {
        let mut child = self.spawn(self.samples);
        let (output, errors) = collect(&mut child);
        let begun = Instant::now();
        while output.after("ready").is_none() {
            let ended = child.try_wait().expect("its state is known");
            if ended.is_some() || begun.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("the server did not get ready: {}{}", output.text(), errors.text());
            }
            tokio::time::sleep(PAUSE).await;
        }
        let address = |what: &str| {
            let rest = output.after(what)?;
            Some(rest.split(['/', ' ']).next()?.parse().expect("an address"))
        };
        let public = address("receiving http://");
        let admin = address("admin API http://").expect("the admin API is named");
        let token = output.after("admin token in ").map(|path| self.directory.join(path));
        let token = token.map(|path| std::fs::read_to_string(path).expect("the token is there"));
        let token = token.unwrap_or_default().trim().to_owned();
        Server { public, admin, token, launch: self, child, gone: false, output, errors }
    }

    /// Runs a command to its end.
    pub async fn run(self) -> Ran {
        let mut child = self.spawn(false);
        let (output, errors) = collect(&mut child);
        let status = ended(&mut child).await;
        super::until("the end of the command's output", async || {
            (output.is_complete() && errors.is_complete()).then_some(())
        })
        .await;
        Ran { code: status.code(), output: output.text(), errors: errors.text() }
    }

    fn spawn(&self, with_samples: bool) -> Child {
        std::fs::create_dir_all(&self.directory).expect("the directory is there");
        if let Some(config) = &self.config {
            let file = self.directory.join("posthouse.toml");
            std::fs::write(file, config).expect("the configuration is written");
        }
        let program = env!("CARGO_BIN_EXE_posthouse");
        let mut command = Command::new(program);
        if with_samples {
            command = Command::new(std::env::current_exe().expect("the path of the tests"));
            command.args(["--exact", "harness::samples::program", "--ignored", "--nocapture"]);
        }
        if let Some(line) = &self.preparation {
            command = Command::new("/bin/sh");
            command.args(["-c", &format!("{line}; exec \"$0\" \"$@\""), program]);
        }
        command.current_dir(&self.directory).args(&self.arguments);
        command.env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        guard::kill_at_end(child.id());
        child
    }
}

impl Output {
    /// Collects what comes out of a pipe, in a thread that ends with it.
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let output = Self::default();
        let writing = output.clone();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let mut text = writing.0.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        output
    }

    /// Everything so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What follows in the first line that begins so.
    fn after(&self, begin: &str) -> Option<String> {
        self.text().lines().find_map(|line| Some(line.strip_prefix(begin)?.to_owned()))
    }

    /// Whether the pipe is at its end: the thread that reads it has let go.
    fn is_complete(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

fn collect(child: &mut Child) -> (Output, Output) {
    let output = Output::of(child.stdout.take().expect("a pipe"));
    (output, Output::of(child.stderr.take().expect("a pipe")))
}

/// Waits for the end of a process.
pub(super) async fn ended(child: &mut Child) -> ExitStatus {
    let status = async || child.try_wait().expect("its state is known");
    let status = super::until("the program to end", status).await;
    guard::forget(child.id());
    status
}

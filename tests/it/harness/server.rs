//! A server that runs: talked to, stopped, killed and paused.

use super::guard;
use super::launch::{Launch, Output, ended};
use super::wire::{Request, Response, Wire};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::net::SocketAddr;
use std::process::{Child, ExitStatus};

/// A server that runs.
pub struct Server {
    /// The listener that receives; a worker has none.
    pub public: Option<SocketAddr>,
    /// The listener of the admin API.
    pub admin: SocketAddr,
    /// The generated admin token; empty when one is configured.
    pub token: String,
    pub(super) launch: Launch,
    pub(super) child: Child,
    /// It has ended, and its end was waited for.
    pub(super) gone: bool,
    pub(super) output: Output,
    pub(super) errors: Output,
}

impl Server {
    /// Where it receives.
    pub fn public(&self) -> SocketAddr {
        self.public.expect("it receives")
    }

    /// Posts a request to a source, on a connection of its own.
    pub async fn post(&self, source: &str, request: Request) -> Response {
        self.exchange(&request.to(&format!("/hooks/{source}"))).await
    }

    /// A request to the public listener, exactly as it is.
    pub async fn exchange(&self, request: &Request) -> Response {
        let mut wire = self.wire().await;
        wire.exchange(request).await.expect("the server answers")
    }

    /// A connection to the public listener.
    pub async fn wire(&self) -> Wire {
        Wire::connect(self.public()).await.expect("the server listens")
    }

    /// What it wrote to standard output.
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// What it wrote to standard error.
    pub fn errors(&self) -> String {
        self.errors.text()
    }

    /// Waits until it has written a text to standard error.
    pub async fn said(&self, text: &str) {
        let what = format!("{text:?} in the log");
        super::until(&what, async || self.errors().contains(text).then_some(())).await;
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it has ever used, in bytes.
    pub fn memory_peak(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the server is there");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
        peak.and_then(|peak| peak.trim().parse::<usize>().ok()).expect("its peak") << 10
    }

    /// How many connections to its public listener it has open, those that only the client has
    /// closed among them.
    pub fn open_connections(&self) -> usize {
        let port = format!(":{:04X}", self.public().port());
        let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", self.pid()));
        let table = table.expect("the server is there");
        let is_open = |line: &&str| {
            let mut fields = line.split_whitespace().skip(1);
            let (local, state) = (fields.next().unwrap_or_default(), fields.nth(1));
            local.ends_with(&port) && matches!(state, Some("01" | "08"))
        };
        table.lines().filter(is_open).count()
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
        // The number of one that is gone may be that of another by now.
        if !std::mem::replace(&mut self.gone, true) {
            let _ = self.child.kill();
            let _ = self.child.wait();
            guard::forget(self.child.id());
        }
    }

    /// Stops it with SIGTERM, and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let status = ended(&mut self.child).await;
        self.gone = true;
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

//! The destination `command`: a program with the body on its standard input.
//!
//! Exit code 0 means accepted and 100 refused for good; any other, 75 (`EX_TEMPFAIL`) included,
//! and any signal mean failed, to be tried again. Out of time means uncertain.
//!
//! It never goes through a shell, never passes content as an argument, and passes on nothing of
//! its own environment but PATH, HOME, LANG and TZ. What the program leaves running in the
//! background is killed when time is up, and left alone when the program ends by itself.

use super::EXCERPT_BYTES_MAX;
use super::facts::{facts, idempotency_key, rfc3339, stable_id};
use crate::job::{Class, Fault, Lease, Outcome};
use crate::source::CommandDestination;
use bytes::Bytes;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// The exit code for "will not get better": qmail's convention. No shell uses it by itself.
const REFUSED: i32 = 100;

/// How long to wait, once the program has ended, for output that something it left running in
/// the background could still write, and, once it was killed, for its end.
const GRACE: Duration = Duration::from_millis(250);

/// What a program may know of our environment.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// Runs the program once. Dropping the future kills it with its whole process group.
pub(super) async fn deliver(command: &CommandDestination, lease: &Lease, body: &Bytes) -> Outcome {
    let program = command.argv.first().map_or("", String::as_str);
    let (mut child, mut output) = match start(command, lease) {
        Ok(started) => started,
        Err(error) => {
            let detail = format!("cannot start {program}: {error}");
            return Outcome::new(Class::Unreached, detail).blaming(Fault::Posthouse);
        }
    };
    let group = Group::of(&child);
    let stdin = child.stdin.take();
    let mut excerpt = Vec::new();
    let ended = timeout(command.timeout, async {
        let talk = async { tokio::join!(feed(stdin, body), collect(&mut output, &mut excerpt)) };
        tokio::select! {
            ended = child.wait() => ended,
            // Both pipes may be closed long before the program ends.
            _ = talk => child.wait().await,
        }
    })
    .await;
    let outcome = match ended {
        Ok(Ok(status)) => {
            group.release();
            let _ = timeout(GRACE, collect(&mut output, &mut excerpt)).await;
            of_status(status)
        }
        Ok(Err(error)) => {
            let detail = format!("the end of {program} was missed: {error}");
            Outcome::new(Class::Uncertain, detail).blaming(Fault::Posthouse)
        }
        Err(_) => {
            drop(group);
            let _ = timeout(GRACE, child.wait()).await;
            let ms = command.timeout.as_millis();
            let detail = format!("timeout after {ms} ms, killed, outcome unknown");
            Outcome::new(Class::Uncertain, detail).blaming(Fault::Handler)
        }
    };
    Outcome { excerpt, ..outcome }
}

/// Starts the program in a process group of its own, with one pipe for both its outputs, so that
/// they stay in the order in which they were written.
fn start(settings: &CommandDestination, lease: &Lease) -> io::Result<(Child, pipe::Receiver)> {
    let (program, arguments) =
        settings.argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    let (reader, writer) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .envs(environment(lease))
        .stdin(Stdio::piped())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    Ok((command.spawn()?, output))
}

/// `POSTHOUSE_*`: small facts only. The environment of a program is bounded, so content that
/// grows does not belong there. A NUL cannot stand in it at all.
fn environment(lease: &Lease) -> impl Iterator<Item = (String, String)> {
    let parcel = &*lease.delivery;
    let content_type = parcel.headers.get("content-type");
    let more = [
        ("source", Some(parcel.source.clone())),
        ("key", Some(parcel.key.clone())),
        ("kind", Some(parcel.kind.clone())),
        ("entity", parcel.entity.clone()),
        ("route", Some(lease.route.to_string())),
        ("received_at", rfc3339(parcel.received_us)),
        ("idempotency_key", Some(idempotency_key(lease))),
        ("webhook_id", Some(stable_id(parcel))),
        ("content_type", content_type.map(|text| String::from_utf8_lossy(text).into_owned())),
    ];
    let more = more.into_iter().filter_map(|(name, value)| Some((name, value?)));
    facts(lease).into_iter().chain(more).map(|(name, value)| {
        (format!("POSTHOUSE_{}", name.to_ascii_uppercase()), value.replace('\0', ""))
    })
}

/// Writes the body. A program that does not want to read all of it is free not to: its exit code
/// says what it made of the delivery.
async fn feed(stdin: Option<ChildStdin>, body: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(body).await;
    }
}

/// Reads to the end and keeps the start.
async fn collect(output: &mut pipe::Receiver, excerpt: &mut Vec<u8>) {
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = output.read(&mut chunk).await {
        let room = EXCERPT_BYTES_MAX.saturating_sub(excerpt.len());
        excerpt.extend_from_slice(&chunk[..read.min(room)]);
    }
}

fn of_status(status: ExitStatus) -> Outcome {
    let failed = Class::Failed;
    let Some(code) = status.code() else {
        let number = status.signal().unwrap_or_default();
        let name = Signal::try_from(number).map_or_else(|_| number.to_string(), |s| s.to_string());
        let detail = format!("killed by signal {name}");
        return Outcome::new(failed, detail).blaming(Fault::Handler);
    };
    let class = match code {
        0 => Class::Accepted,
        REFUSED => Class::Refused,
        _ => failed,
    };
    let outcome = Outcome::new(class, format!("exit code {code}")).blaming(Fault::Handler);
    Outcome { status: Some(code.into()), ..outcome }
}

/// The process group of a program that has not been waited for; killed when this is dropped.
///
/// The group's number cannot be taken by another one before the program is waited for, so the
/// signal cannot go astray.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    /// The program has ended by itself.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;

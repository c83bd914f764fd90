//! Real programs: what they get, what becomes of their ends, and that nothing outlives its time.

use super::*;
use crate::deliver::sample;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::oneshot;

const FAILED: Class = Class::Failed;

fn shell(script: &str) -> CommandDestination {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    CommandDestination { argv, timeout: Duration::from_secs(20) }
}

async fn run(command: &CommandDestination, body: &[u8]) -> Outcome {
    let lease = sample::lease(body);
    deliver(command, &lease, lease.delivery.body.as_ref().unwrap()).await
}

async fn output(script: &str, body: &[u8]) -> String {
    let outcome = run(&shell(script), body).await;
    assert_eq!(outcome.class, Class::Accepted, "{}", outcome.detail);
    String::from_utf8(outcome.excerpt).unwrap()
}

#[tokio::test]
async fn a_large_body_arrives_whole_on_standard_input() {
    let body = vec![b'a'; 3_000_008];
    assert_eq!(output("wc -c", &body).await.trim(), "3000008");
}

#[tokio::test]
async fn a_program_need_not_read_its_input_or_keep_its_output_open() {
    let body = vec![b'a'; 3_000_000];
    assert_eq!(output("exec <&-; echo done", &body).await, "done\n");
    assert_eq!(output("echo done; exec <&- >&- 2>&-; exec sleep 0.1", &body).await, "done\n");
}

#[tokio::test]
async fn both_outputs_are_kept_in_order_and_cut() {
    assert_eq!(output("echo a; echo b >&2; echo c", b"").await, "a\nb\nc\n");
    let long = output("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2", b"").await;
    assert_eq!(long, "x".repeat(EXCERPT_BYTES_MAX));
}

#[tokio::test]
async fn the_environment_holds_the_facts_and_nothing_of_ours() {
    let text = output("env", b"{}").await;
    for line in [
        "POSTHOUSE_DELIVERY=1042",
        "POSTHOUSE_SOURCE=gh",
        "POSTHOUSE_KEY=7d3c0082",
        "POSTHOUSE_KIND=push",
        "POSTHOUSE_ENTITY=cedar/lantern#41",
        "POSTHOUSE_LANE=cedar/lantern#41",
        "POSTHOUSE_ATTEMPT=3",
        "POSTHOUSE_SEQUENCE=12",
        "POSTHOUSE_ROUTE=build",
        "POSTHOUSE_IDEMPOTENCY_KEY=gh:7d3c0082:build",
        "POSTHOUSE_WEBHOOK_ID=msg_3a2804eaf82cf8f551ced05c27218a6d",
        "POSTHOUSE_REPLAY=n0nce",
        "POSTHOUSE_OCCURRED_AT=2023-11-14T22:13:20Z",
        "POSTHOUSE_RECEIVED_AT=2023-11-14T22:13:21.5Z",
        "POSTHOUSE_CONTENT_TYPE=application/json",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    // What a shell sets by itself.
    let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    for line in text.lines() {
        let name = line.split('=').next().unwrap();
        let is_known = INHERITED.contains(&name) || of_the_shell.contains(&name);
        assert!(is_known || name.starts_with("POSTHOUSE_"), "{line} came from ours");
    }
}

#[tokio::test]
async fn a_nul_in_a_fact_does_not_prevent_the_start() {
    let mut lease = sample::lease(b"");
    Arc::make_mut(&mut lease.delivery).kind = "pu\0sh".into();
    let body = lease.delivery.body.clone().unwrap();
    let outcome = deliver(&shell("echo $POSTHOUSE_KIND"), &lease, &body).await;
    assert_eq!(outcome.excerpt, b"push\n");
}

#[tokio::test]
async fn every_end_has_its_class() {
    for (script, class, status, detail) in [
        ("exit 0", Class::Accepted, Some(0), "exit code 0"),
        ("exit 100", Class::Refused, Some(100), "exit code 100"),
        ("exit 75", FAILED, Some(75), "exit code 75"),
        ("exit 1", FAILED, Some(1), "exit code 1"),
        ("kill -TERM $$", FAILED, None, "killed by signal SIGTERM"),
    ] {
        let outcome = run(&shell(script), b"{}").await;
        let Outcome { class: found, status: code, detail: text, .. } = outcome;
        assert_eq!((found, code, text.as_str()), (class, status, detail), "{script}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_failed() {
    let argv = vec!["/no/such/program".to_owned(), "argument".to_owned()];
    let outcome = run(&CommandDestination { argv, timeout: Duration::from_secs(1) }, b"{}").await;
    let detail = "cannot start /no/such/program: No such file or directory (os error 2)";
    assert_eq!(outcome, Outcome::new(Class::Unreached, detail).blaming(Fault::Posthouse));
}

/// A pipe in the file system that a grandchild holds open as long as it lives.
fn fifo(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Writes a byte into the pipe from a grandchild that then lives on, as does its parent.
fn grandchild(path: &std::path::Path) -> CommandDestination {
    shell(&format!("(echo here; exec sleep 1000) > {} & wait", path.display()))
}

/// Reads the pipe on a thread: tells when the grandchild is there, and then when it is gone.
fn watch(path: PathBuf) -> (oneshot::Receiver<()>, oneshot::Receiver<()>) {
    let (there, is_there) = oneshot::channel();
    let (gone, is_gone) = oneshot::channel();
    std::thread::spawn(move || {
        let mut pipe = File::open(path).unwrap();
        pipe.read_exact(&mut [0; 5]).unwrap();
        there.send(()).unwrap();
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
        gone.send(()).unwrap();
    });
    (is_there, is_gone)
}

#[tokio::test]
async fn out_of_time_is_uncertain_and_kills_grandchildren() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(&folder);
    let command = CommandDestination { timeout: Duration::from_secs(2), ..grandchild(&path) };
    let (_is_there, is_gone) = watch(path);
    let outcome = run(&command, b"{}").await;
    let detail = "timeout after 2000 ms, killed, outcome unknown";
    assert_eq!(outcome, Outcome::new(Class::Uncertain, detail).blaming(Fault::Handler));
    timeout(Duration::from_secs(10), is_gone).await.expect("it lives on").unwrap();
}

#[tokio::test]
async fn dropping_the_attempt_kills_grandchildren() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(&folder);
    let command = grandchild(&path);
    let (is_there, is_gone) = watch(path);
    let attempt = tokio::spawn(async move { run(&command, b"{}").await });
    timeout(Duration::from_secs(10), is_there).await.expect("it never started").unwrap();
    attempt.abort();
    timeout(Duration::from_secs(10), is_gone).await.expect("it lives on").unwrap();
}

#[tokio::test]
async fn what_a_program_leaves_in_the_background_is_neither_awaited_nor_killed() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (fifo(&folder), fifo(&other));
    // For reading too, so that opening it does not wait for a reader.
    let mut input = File::options().read(true).write(true).open(&from).unwrap();
    // The subshell's error output stays our pipe.
    let script = format!("cat {} > {} & echo started", from.display(), to.display());
    let (is_there, is_gone) = watch(to);
    let started = timeout(Duration::from_secs(10), output(&script, b"{}"));
    assert_eq!(started.await.expect("it was awaited"), "started\n");
    input.write_all(b"here\n").unwrap();
    timeout(Duration::from_secs(10), is_there).await.unwrap().expect("it was killed");
    drop(input);
    timeout(Duration::from_secs(10), is_gone).await.expect("it lives on").unwrap();
}

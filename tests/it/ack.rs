//! A 2xx is given after the commit, and a commit is on the disk.

use crate::harness::*;
use std::process::Command;
use std::time::Duration;

/// Notes every time that a process has its files put to the disk.
const NOTE_SYNCS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int noted(long call, int file) {
    int result = syscall(call, file);
    int log = open(getenv("SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0 || write(log, ".", 1) != 1) abort();
    close(log);
    return result;
}
int fsync(int file) { return noted(SYS_fsync, file); }
int fdatasync(int file) { return noted(SYS_fdatasync, file); }
"#;

/// PostgreSQL does the same for itself: there the machine is made to crash, see `crash_postgres`.
#[test]
fn sqlite_has_put_a_delivery_to_the_disk_when_it_is_answered() {
    run(Engine::Sqlite, async |world| {
        let source = world.file("note.c", NOTE_SYNCS);
        let library = world.path().join("note.so").display().to_string();
        let mut compiler = Command::new("cc");
        let made = compiler.args(["-shared", "-fPIC", "-o", &library, &source]).output();
        let made = made.expect("the C compiler that builds SQLite");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let log = world.path().join("syncs").display().to_string();
        // Nobody but the receiver writes, so that every sync is one of a record.
        let receiver = world.posthouse(&logged("github")).args(["serve", "--role", "receiver"]);
        let receiver = receiver.env("LD_PRELOAD", &library).env("SYNC_LOG", &log);
        let server = receiver.serve().await;
        let syncs = || std::fs::metadata(&log).map_or(0, |log| log.len());
        for n in 0..20 {
            let before = syncs();
            assert_eq!(server.post("github", push("one", n)).await.status, 200);
            assert!(syncs() > before, "the {n}th was answered without");
        }
    });
}

both!(there_is_no_answer_before_the_commit, |world| async {
    let server = world.serve(&logged("github")).await;
    assert_eq!(server.post("github", push("one", 0)).await.status, 200);
    server.settled().await;
    let mut other = world.database.connect().await;
    other
        .run(match world.engine {
            Engine::Sqlite => "BEGIN IMMEDIATE",
            Engine::Postgres => "BEGIN; LOCK TABLE deliveries IN EXCLUSIVE MODE",
        })
        .await;
    let requests = (1..=20).map(|n| (server.public(), push("one", n).to("/hooks/github")));
    let mut answers = tokio::spawn(at_once(requests.collect()));
    until("the requests to be there", async || {
        (server.metric("posthouse_received_total{source=\"github\"}").await == 21.0).then_some(())
    })
    .await;
    let early = tokio::time::timeout(Duration::from_millis(500), &mut answers).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(other.number("SELECT count(*) FROM deliveries").await, 1);
    other.run("COMMIT").await;
    let answers = answers.await.unwrap();
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(world.database.number("SELECT count(*) FROM deliveries").await, 21);
});

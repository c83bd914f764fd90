//! A worker that was paused past its lease cannot settle what somebody else has taken over.

use crate::harness::*;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use std::time::Duration;

/// Short leases; several processes on one SQLite file hear of each other by polling.
const LEASES: &str = "[workers]\nlease = \"1s\"\npoll = \"50ms\"\n";

/// Pauses a server, but not while it holds the lock on a SQLite file: that would hold up everybody
/// until it goes on, as any process does that is stopped in the middle of a write.
async fn pause(world: &World, server: &Server) {
    loop {
        server.signal(Signal::SIGSTOP);
        let Database::Sqlite(path) = &world.database else { return };
        let options = SqliteConnectOptions::new().filename(path);
        let options = options.busy_timeout(Duration::from_millis(300));
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        if sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut connection).await.is_ok() {
            return;
        }
        server.signal(Signal::SIGCONT);
    }
}

/// A job with its attempts.
async fn job_of(server: &Server, delivery: &str) -> Value {
    server.delivery(delivery).await["jobs"][0].clone()
}

both!(a_worker_that_wakes_up_late_is_refused, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate), Answer::ok()]).await;
    let config = LEASES.to_owned() + &straight("github", &stub) + SOON;
    let first = world.serve(&config).await;
    let answer = first.post("github", push("one", 1)).await.json();
    let delivery = answer["delivery"].as_str().unwrap();
    stub.until(1).await;
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    let second = second.serve().await;
    pause(&world, &first).await;

    // The lease ends, the second worker takes over and is answered.
    let job = until("the second worker to settle", async || {
        Some(job_of(&second, delivery).await).filter(|job| job["state"] == "succeeded")
    })
    .await;
    assert_eq!(stub.calls(), 2);
    assert_eq!(second.metric("posthouse_takeovers_total").await, 1.0);

    // Only now does the first one hear what became of its attempt.
    gate.open();
    first.signal(Signal::SIGCONT);
    until("the first worker to be refused", async || {
        (first.metric("posthouse_leases_lost_total").await == 1.0).then_some(())
    })
    .await;
    until("the log to say so", async || {
        let said = first.errors();
        (said.contains("the settle was refused") || said.contains("lost the lease")).then_some(())
    })
    .await;
    assert_eq!(job_of(&second, delivery).await, job, "the late one has changed nothing");
    let attempts = job["attempts"].as_array().unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["uncertain", "accepted"]);
    assert_ne!(attempts[0]["worker"], attempts[1]["worker"]);
    let accepted = "posthouse_attempts_total{outcome=\"accepted\",route=\"github-out\"}";
    assert_eq!([first.metric(accepted).await, second.metric(accepted).await], [0.0, 1.0]);
    assert_eq!(second.metric("posthouse_leases_lost_total").await, 0.0);
    // Both still work.
    let later = first.post("github", push("two", 2)).await.json();
    first.settled().await;
    assert_eq!(job_of(&first, later["delivery"].as_str().unwrap()).await["state"], "succeeded");
});

both!(a_late_settle_does_not_disturb_an_attempt_that_is_under_way, |world| async {
    let [first_gate, second_gate] = [Gate::closed(), Gate::closed()];
    let answers = [Answer::ok().behind(&first_gate), Answer::status(500).behind(&second_gate)];
    let stub = Stub::start([answers.as_slice(), &[Answer::ok()]].concat()).await;
    let config = LEASES.to_owned() + &straight("github", &stub) + SOON;
    let first = world.serve(&config).await;
    let answer = first.post("github", push("one", 1)).await.json();
    let delivery = answer["delivery"].as_str().unwrap();
    assert_eq!(first.post("github", push("one", 2)).await.status, 200);
    stub.until(1).await;
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    let second = second.serve().await;
    pause(&world, &first).await;
    stub.until(2).await;
    first_gate.open();
    first.signal(Signal::SIGCONT);
    until("the first worker to be refused", async || {
        (first.metric("posthouse_leases_lost_total").await == 1.0).then_some(())
    })
    .await;
    // The 200 that it heard counts for nothing while the second attempt runs.
    let job = job_of(&second, delivery).await;
    assert_eq!((&job["state"], &job["attempt_count"]), (&json!("running"), &json!(2)));
    assert_eq!(stub.calls(), 2, "the next of the lane waits");
    second_gate.open();
    first.settled().await;
    let job = job_of(&second, delivery).await;
    let attempts = job["attempts"].as_array().unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["uncertain", "failed", "accepted"]);
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-1", "one-1", "one-2"]);
});

// A crash of PostgreSQL's machine may lose a claim, which was not waited for, while the worker
// that made it lives on.
both!(a_lease_whose_claim_was_forgotten_settles_nothing, |world| async {
    let [first_gate, second_gate] = [Gate::closed(), Gate::closed()];
    let answers = [Answer::ok().behind(&first_gate), Answer::status(500).behind(&second_gate)];
    let stub = Stub::start([answers.as_slice(), &[Answer::ok()]].concat()).await;
    let config = "[workers]\npoll = \"50ms\"\n".to_owned() + &straight("github", &stub) + SOON;
    let server = world.serve(&config).await;
    let answer = server.post("github", push("one", 1)).await.json();
    let delivery = answer["delivery"].as_str().unwrap();
    assert_eq!(server.post("github", push("one", 2)).await.status, 200);
    stub.until(1).await;
    let forget = "UPDATE jobs SET state = 'ready', due_us = created_us, token = 0, attempts = 0,
        tries = 0, lease_until_us = NULL, worker = NULL WHERE state = 'running'";
    world.database.run(forget).await;
    stub.until(2).await;
    first_gate.open();
    until("the forgotten lease to be refused", async || {
        (server.metric("posthouse_leases_lost_total").await == 1.0).then_some(())
    })
    .await;
    let job = job_of(&server, delivery).await;
    assert_eq!((&job["state"], &job["attempt_count"]), (&json!("running"), &json!(1)));
    assert_eq!(stub.calls(), 2, "the next of the lane waits");
    second_gate.open();
    server.settled().await;
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-1", "one-1", "one-2"]);
});

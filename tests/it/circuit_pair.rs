//! Circuits shared by two processes: one job of one of them tries, and whoever dies is replaced.

use crate::harness::*;
use serde_json::Value;

/// Two processes and a destination that fails at first. On PostgreSQL they hear of each other, on
/// SQLite they have to look.
async fn pair(world: &World, stub: &Stub, bounds: &str) -> (Server, Server) {
    let poll = match world.engine {
        Engine::Postgres => "[workers]\npoll = \"1m\"\nlease = \"1s\"\n",
        Engine::Sqlite => "[workers]\npoll = \"20ms\"\nlease = \"1s\"\n",
    };
    let url = stub.url();
    let config = poll.to_owned()
        + &source("github")
        + &format!("[destinations.out]\ntype = \"http\"\nurl = {url:?}\nallow_private = true\n")
        + bounds
        + "circuit = { attempts = 4, cooldown = \"1h\" }\n"
        + &route("github", "out")
        + SOON;
    let first = world.serve(&config).await;
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    (first, second.serve().await)
}

/// Sends deliveries that fail until the circuit opens. The destination then answers otherwise, and
/// the time comes to try it. How many requests it got before.
async fn opened(world: &World, first: &Server, stub: &Stub, answers: &[Answer]) -> usize {
    for n in 1..=19 {
        assert_eq!(first.post("github", push(&format!("branch{n}"), 1)).await.status, 200);
    }
    until("the circuit to open, and what was under way to end", async || {
        let mut database = world.database.connect().await;
        let open = database.number("SELECT count(*) FROM circuits WHERE state = 'open'").await;
        let running = "SELECT count(*) FROM jobs WHERE state = 'running'";
        (open == 1 && database.number(running).await == 0).then_some(())
    })
    .await;
    let calls = stub.calls();
    stub.when("ref", answers.to_vec());
    world.database.run("UPDATE circuits SET until_us = 1").await;
    assert_eq!(first.post("github", push("branch20", 1)).await.status, 200);
    stub.until(calls + 1).await;
    calls
}

/// Waits until the trial has been prolonged so often.
async fn prolonged(world: &World, times: usize) {
    let until_us = "SELECT coalesce(max(until_us), 0) FROM circuits WHERE state = 'half_open'";
    let mut seen = std::collections::BTreeSet::new();
    until("the trial to be prolonged", async || {
        seen.insert(world.database.number(until_us).await);
        (seen.len() > times).then_some(())
    })
    .await;
}

fn all_succeeded(jobs: &[Value]) {
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
}

both!(two_processes_try_with_one_job_however_long_it_takes, |world| async {
    let (stub, gate) = (Stub::start([Answer::status(503)]).await, Gate::closed());
    let (first, second) = pair(&world, &stub, "").await;
    let before = opened(&world, &first, &stub, &[Answer::ok().behind(&gate)]).await;
    // Longer than two leases.
    prolonged(&world, 6).await;
    assert_eq!(stub.calls(), before + 1, "nobody else tries meanwhile");
    let running = second.jobs("?state=running").await;
    assert_eq!(running.len(), 1, "{running:#?}");
    gate.open();
    let jobs = first.settled().await;
    all_succeeded(&jobs);
    assert_eq!(stub.calls(), before + 20);
    let mut closed = 0;
    for server in [&first, &second] {
        closed += server.errors().matches("circuit closed").count();
        assert_eq!(server.metric("posthouse_takeovers_total").await, 0.0);
    }
    assert_eq!(closed, 1);
    // Both work again.
    assert_eq!(world.database.number("SELECT count(*) FROM circuits").await, 0);
});

both!(a_process_that_dies_while_it_tries_is_replaced, |world| async {
    let (stub, gate) = (Stub::start([Answer::status(503)]).await, Gate::closed());
    let (mut first, mut second) = pair(&world, &stub, "rate = 200\nconcurrency = 8\n").await;
    let answers = [Answer::ok().behind(&gate), Answer::ok()];
    let before = opened(&world, &first, &stub, &answers).await;
    let trying = first.jobs("?state=running").await;
    let worker = trying[0]["worker"].as_str().unwrap();
    let is_first = worker.contains(&format!("-{}-", first.pid()));
    let (dies, stays) =
        if is_first { (&mut first, &mut second) } else { (&mut second, &mut first) };
    dies.kill();
    let jobs = stays.settled().await;
    all_succeeded(&jobs);
    assert_eq!(stub.calls(), before + 1 + 20);
    assert_eq!(stays.metric("posthouse_takeovers_total").await, 1.0);
    stays.said("circuit closed").await;
    let opened = "posthouse_circuit_opened_total{destination=\"out\"}";
    assert!(stays.metric(opened).await <= 1.0, "to die is no failure of the destination");
});

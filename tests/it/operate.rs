//! What operators do to jobs and routes while the workers are at it, and what they are told.

use crate::harness::*;
use serde_json::json;

/// Sends one delivery, which is accepted. Its id.
async fn send(server: &Server, request: Request) -> String {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["delivery"].as_str().unwrap().to_owned()
}

both!(replays_let_live_deliveries_go_first, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("heads/block", [Answer::ok().behind(&gate)]);
    let config = "[workers]\nconcurrency = 1\n".to_owned() + &straight("github", &stub);
    let server = world.serve(&config).await;
    let mut old = Vec::new();
    for n in 1..=3 {
        old.push(send(&server, push(&format!("old{n}"), n)).await);
    }
    server.settled().await;
    // The only place is taken. Then come the replays, and after them live deliveries.
    send(&server, push("block", 0)).await;
    stub.until(4).await;
    let replayed = server.command("/api/replays", json!({ "deliveries": old })).await;
    assert_eq!(replayed["replayed"].as_array().unwrap().len(), 3, "{replayed}");
    send(&server, push("live1", 1)).await;
    send(&server, push("live2", 2)).await;
    gate.open();
    server.settled().await;
    let order = keys_of(&stub.received()[4..]);
    assert_eq!(order, ["live1-1", "live2-2", "old1-1", "old2-2", "old3-3"]);
});

both!(in_a_lane_a_replay_waits_behind_live_deliveries, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    let server = world.serve(&straight("github", &stub)).await;
    let old = send(&server, push("one", 1)).await;
    server.settled().await;
    stub.when("\"n\":2,", [Answer::ok().behind(&gate)]);
    send(&server, push("one", 2)).await;
    stub.until(2).await;
    server.command("/api/replays", json!({ "deliveries": [old] })).await;
    send(&server, push("one", 3)).await;
    gate.open();
    server.settled().await;
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-2", "one-3", "one-1"]);
    by_lane(&stub.received());
});

both!(a_retrying_job_can_be_told_to_run_now, |world| async {
    let stub = Stub::start([Answer::status(503), Answer::ok()]).await;
    let config = "[workers]\npoll = \"1m\"\n".to_owned() + &straight("github", &stub);
    let server = world.serve(&(config + "backoff = \"1h\"\nbackoff_max = \"1h\"\n")).await;
    let id = send(&server, push("one", 1)).await;
    let job = until("the job to wait for its next try", async || {
        let job = server.delivery(&id).await["jobs"][0].clone();
        (job["state"] == "retrying").then_some(job)
    })
    .await;
    let ran = server.cli(["jobs", "retry", job["id"].as_str().unwrap()]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    server.settled().await;
    let shown = server.delivery(&id).await;
    assert_eq!(shown["jobs"][0]["state"], "succeeded");
    assert_eq!(shown["operations"][0]["action"], "retry");
    // What is done cannot be retried, only replayed.
    let ran = server.cli(["jobs", "retry", job["id"].as_str().unwrap()]).run().await;
    assert_ne!(ran.code, Some(0));
    assert_eq!(stub.calls(), 2);
});

both!(a_cancelled_job_that_waits_leaves_no_gap, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("\"n\":1,", [Answer::ok().behind(&gate)]);
    let server = world.serve(&straight("github", &stub)).await;
    send(&server, push("one", 1)).await;
    let second = send(&server, push("one", 2)).await;
    send(&server, push("one", 3)).await;
    stub.until(1).await;
    let ran = server.cli(["jobs", "cancel", &format!("{second}-0")]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    gate.open();
    server.settled().await;
    let received = stub.received();
    assert_eq!(keys_of(&received), ["one-1", "one-3"]);
    let numbers: Vec<_> = received.iter().map(|one| number(one, "posthouse-sequence")).collect();
    assert_eq!(numbers, [1, 2]);
});

both!(a_paused_route_takes_no_jobs_and_loses_none, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&straight("github", &stub)).await;
    let ran = server.cli(["pause", "route", "github-out"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    for n in 1..=3 {
        send(&server, push("one", n)).await;
    }
    // A pause outlives a restart.
    server.restart().await;
    send(&server, push("one", 4)).await;
    assert_eq!(server.metric("posthouse_paused_routes").await, 1.0);
    assert_eq!(server.metric("posthouse_jobs{state=\"ready\"}").await, 1.0);
    assert_eq!(server.metric("posthouse_jobs{state=\"waiting\"}").await, 3.0);
    assert_eq!(stub.calls(), 0);
    let ran = server.cli(["resume", "route", "github-out"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    assert_eq!(keys_of(&stub.until(4).await), ["one-1", "one-2", "one-3", "one-4"]);
});

both!(the_metrics_add_up, |world| async {
    let stub = Stub::ok().await;
    stub.when("fails", [Answer::status(500), Answer::ok()]);
    stub.when("dies", [Answer::status(400)]);
    let server = world.serve(&(straight("github", &stub) + SOON)).await;
    for branch in ["works", "fails", "dies"] {
        send(&server, push(branch, 1)).await;
    }
    server.settled().await;
    assert_eq!(server.post("github", push("works", 1)).await.json()["status"], "duplicate");
    let other = github("works-1", r#"{"other":"content"}"#);
    assert_eq!(server.post("github", other).await.status, 409);
    let forged = push("works", 2).with("X-Hub-Signature-256", format!("sha256={}", "0".repeat(64)));
    assert_eq!(server.post("github", forged).await.status, 401);
    assert_eq!(server.post("nobody", push("works", 3)).await.status, 404);
    assert_eq!(server.post("github", push("dies", 1)).await.json()["status"], "revived");
    server.settled().await;
    let route = "route=\"github-out\"";
    for (series, expected) in [
        ("posthouse_received_total{source=\"github\"}", 7.0),
        ("posthouse_received_total{source=\"-\"}", 1.0),
        ("posthouse_accepted_total{source=\"github\"}", 3.0),
        ("posthouse_duplicate_total{source=\"github\"}", 1.0),
        ("posthouse_conflict_total{source=\"github\"}", 1.0),
        ("posthouse_revived_total{source=\"github\"}", 1.0),
        (&format!("posthouse_attempts_total{{outcome=\"accepted\",{route}}}"), 2.0),
        (&format!("posthouse_attempts_total{{outcome=\"failed\",{route}}}"), 1.0),
        (&format!("posthouse_attempts_total{{outcome=\"refused\",{route}}}"), 2.0),
        (&format!("posthouse_died_total{{{route}}}"), 2.0),
        (&format!("posthouse_end_to_end_seconds_count{{{route}}}"), 2.0),
        ("posthouse_answer_seconds_count", 7.0),
        ("posthouse_takeovers_total", 0.0),
        ("posthouse_leases_lost_total", 0.0),
        ("posthouse_halted_lanes", 0.0),
        ("posthouse_paused_routes", 0.0),
        ("posthouse_oldest_ready_seconds", 0.0),
        ("posthouse_jobs{state=\"running\"}", 0.0),
    ] {
        let text = server.metrics().await;
        assert!(text.contains(&format!("\n{series} ")), "{series} is not in {text}");
        assert_eq!(server.metric(series).await, expected, "{series}");
    }
    let text = server.metrics().await;
    let rejected = text.lines().filter(|line| line.starts_with("posthouse_rejected_total{"));
    let rejected: Vec<&str> = rejected.collect();
    assert!(rejected.len() == 1 && rejected[0].ends_with(" 1"), "{rejected:?}");
    until("the dead to be counted", async || {
        (server.metric("posthouse_jobs{state=\"dead\"}").await == 1.0).then_some(())
    })
    .await;
});

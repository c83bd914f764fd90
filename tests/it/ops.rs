//! What operators are told: readiness, backlog, and what a server that only receives can tell.

use crate::harness::*;
use serde_json::json;
use std::time::Duration;

/// What `/readyz` says at the moment.
async fn readiness(server: &Server) -> (u16, serde_json::Value) {
    let answer = server.admin_exchange(&Request::new("GET", "/readyz")).await;
    (answer.status, answer.json()["checks"].clone())
}

both!(a_backlog_that_nobody_works_on_shows_in_the_metrics, |world| async {
    let receiver = world.posthouse(&logged("github")).within("receiver");
    let receiver = receiver.args(["serve", "--role", "receiver"]).serve().await;
    let requests = (0..20).map(|n| github(&format!("7d3c0054-{n}"), format!("{{\"n\":{n}}}")));
    let requests = requests.map(|request| (receiver.public(), request.to("/hooks/github")));
    assert!(at_once(requests.collect()).await.iter().all(|answer| answer.status == 200));
    assert_eq!(receiver.jobs("?state=ready").await.len(), 20);
    world.database.run("UPDATE jobs SET due_us = due_us - 90000000").await;
    until("the gauges to be read anew", async || {
        let age = receiver.metric("posthouse_oldest_ready_seconds").await;
        (age >= 90.0).then_some(())
    })
    .await;
    assert_eq!(receiver.metric(r#"posthouse_jobs{state="ready"}"#).await, 20.0);
    let (status, checks) = readiness(&receiver).await;
    assert_eq!((status, &checks["workers"]), (200, &json!("not in this process")));
    // A worker beside it takes up what has gathered.
    let worker = world.posthouse(&logged("github")).within("worker");
    let worker = worker.args(["serve", "--role", "worker"]).serve().await;
    assert_eq!(worker.public, None);
    assert_eq!(receiver.settled().await.len(), 20);
    until("the gauges to be read anew", async || {
        (receiver.metric("posthouse_oldest_ready_seconds").await == 0.0).then_some(())
    })
    .await;
});

both!(workers_that_cannot_look_for_jobs_are_not_ready, |world| async {
    let server = world.serve(&logged("github")).await;
    assert_eq!(readiness(&server).await.0, 200);
    world.database.run("ALTER TABLE jobs RENAME TO jobs_away").await;
    let checks = until("the workers to be missed", async || {
        let (status, checks) = readiness(&server).await;
        (status == 503).then_some(checks)
    })
    .await;
    assert!(checks["workers"].as_str().unwrap().contains("have not looked"), "{checks}");
    let health = server.cli(["health"]).run().await;
    assert_eq!(health.code, Some(1), "{health:?}");
    world.database.run("ALTER TABLE jobs_away RENAME TO jobs").await;
    until("the workers to be back", async || (readiness(&server).await.0 == 200).then_some(()))
        .await;
    let health = server.cli(["health"]).run().await;
    assert_eq!(health.code, Some(0), "{health:?}");
});

both!(a_store_that_cannot_be_written_to_is_not_ready, |world| async {
    let server = world.serve(&logged("github")).await;
    let mut foreign = world.database.connect().await;
    match world.engine {
        Engine::Sqlite => foreign.run("BEGIN IMMEDIATE").await,
        Engine::Postgres => {
            foreign.run("BEGIN; LOCK TABLE deliveries, probes IN ACCESS EXCLUSIVE MODE").await;
        }
    }
    until("the store to be missed", async || {
        let (status, checks) = readiness(&server).await;
        (status == 503 && checks["store"] != "ok").then_some(())
    })
    .await;
    let alive = server.admin_exchange(&Request::new("GET", "/healthz")).await;
    assert_eq!(alive.status, 200, "the process lives");
    foreign.run("ROLLBACK").await;
    until("the store to be back", async || (readiness(&server).await.0 == 200).then_some(())).await;
    assert_eq!(server.post("github", github("7d3c0055", "{}")).await.status, 200);
});

both!(a_lone_job_starts_without_waiting_for_a_poll, |world| async {
    let stub = Stub::ok().await;
    let config = straight("github", &stub) + "[workers]\npoll = \"1m\"\n";
    let server = world.serve(&config).await;
    for n in 0..5 {
        let begun = std::time::Instant::now();
        assert_eq!(server.post("github", github(&format!("w-{n}"), "{}")).await.status, 200);
        stub.until(n + 1).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "woken, not found by chance");
        server.settled().await;
    }
});

both!(an_idle_server_stops_at_once_and_with_success, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&straight("github", &stub)).await;
    assert_eq!(server.post("github", github("7d3c0056", "{}")).await.status, 200);
    server.settled().await;
    let begun = std::time::Instant::now();
    assert_eq!(server.stop().await.code(), Some(0), "{}", server.errors());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
});

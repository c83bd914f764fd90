//! Several processes on one database: each does its part, none does another's.

use crate::harness::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How often a process looks by itself. On PostgreSQL it hears of work; on SQLite it has to look.
fn poll(world: &World) -> &'static str {
    match world.engine {
        Engine::Postgres => "[workers]\npoll = \"1m\"\nconcurrency = 4\n",
        Engine::Sqlite => "[workers]\npoll = \"20ms\"\nconcurrency = 4\n",
    }
}

both!(a_receiver_and_a_worker_are_two_processes, |world| async {
    let stub = Stub::ok().await;
    stub.when("again", [Answer::status(500), Answer::ok()]);
    let config = poll(&world).to_owned() + &straight("github", &stub) + SOON;
    let receiver =
        world.posthouse(&config).args(["serve", "--role", "receiver"]).within("receiver");
    let receiver = receiver.serve().await;
    assert_eq!(receiver.post("github", push("early", 0)).await.status, 200);
    let checks = receiver.admin_exchange(&Request::new("GET", "/readyz")).await.json();
    assert_eq!(
        (&checks["ready"], &checks["checks"]["workers"]),
        (&true.into(), &"not in this process".into())
    );
    assert_eq!(stub.calls(), 0);

    let worker = world.posthouse(&config).args(["serve", "--role", "worker"]).within("worker");
    let worker = worker.serve().await;
    assert_eq!(worker.public, None);
    worker.settled().await;
    for n in 1..=5 {
        assert_eq!(receiver.post("github", push("one", n)).await.status, 200);
        let answered = Instant::now();
        let begun = stub.until(n + 1).await[n].begun;
        let waited = begun.saturating_duration_since(answered);
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        worker.settled().await;
    }
    assert_eq!(receiver.post("github", push("again", 6)).await.status, 200);
    let jobs = receiver.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    let series = "posthouse_accepted_total{source=\"github\"}";
    assert_eq!([receiver.metric(series).await, worker.metric(series).await], [7.0, 0.0]);
    let series = "posthouse_attempts_total{outcome=\"accepted\",route=\"github-out\"}";
    assert_eq!([receiver.metric(series).await, worker.metric(series).await], [0.0, 7.0]);
    // What an operator says to one is heard by the other.
    let first = jobs.iter().find(|job| job["key"] == "one-1").unwrap();
    let ran = receiver.cli(["replay", first["delivery"].as_str().unwrap()]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let calls = stub.calls();
    let asked = Instant::now();
    stub.until(calls.max(9)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
});

both!(two_workers_never_run_two_jobs_of_a_lane_at_once, |world| async {
    let stub = Stub::start([Answer::ok().after(Duration::from_millis(5))]).await;
    for n in (0..40).step_by(5) {
        let failing = [Answer::status(500), Answer::ok()];
        (0..6).for_each(|lane| stub.when(&format!("lane{lane}\",\"n\":{n},"), failing.clone()));
    }
    let config = poll(&world).to_owned() + &straight("github", &stub) + SOON;
    let first = world.serve(&config).await;
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    let second = second.serve().await;
    let requests = (0..40).flat_map(|n| (0..6).map(move |lane| push(&format!("lane{lane}"), n)));
    let requests: Vec<Request> = requests.map(|request| request.to("/hooks/github")).collect();
    for answer in send_all(first.public(), requests, 8, Default::default()).await {
        assert_eq!(answer.expect("an answer").status, 200);
    }
    let jobs = first.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    assert_eq!(stub.calls(), (40 + 8) * 6);
    for received in by_lane(&stub.received()).into_values() {
        in_order(&received, |one| {
            let n: usize = key_of(one).rsplit('-').next().unwrap().parse().unwrap();
            number(one, "posthouse-attempt") as usize == 1 + usize::from(n.is_multiple_of(5))
        });
    }
    // Both had a hand in it, and neither had to take anything from the other.
    let mut workers = BTreeSet::new();
    for job in jobs.iter().step_by(10) {
        let shown = second.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        let attempts = shown["attempts"].as_array().unwrap().iter();
        workers.extend(attempts.map(|attempt: &Value| attempt["worker"].to_string()));
    }
    assert_eq!(workers.len(), 2, "{workers:?}");
    for server in [&first, &second] {
        assert_eq!(server.metric("posthouse_takeovers_total").await, 0.0);
        assert_eq!(server.metric("posthouse_leases_lost_total").await, 0.0);
    }
});

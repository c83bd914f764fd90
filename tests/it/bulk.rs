//! Dead jobs come back in bulk: one after the other, behind live ones, and only once.

use crate::harness::*;
use serde_json::json;
use std::time::{Duration, Instant};

/// Lets `n` jobs die, each in a lane of its own.
async fn dead(server: &Server, stub: &Stub, n: usize) {
    stub.when("doomed", [Answer::status(400)]);
    let requests: Vec<Request> =
        (0..n).map(|n| push(&format!("doomed{n}"), n).to("/hooks/github")).collect();
    for answer in send_all(server.public(), requests, 1, Default::default()).await {
        assert_eq!(answer.expect("an answer").status, 200);
    }
    server.settled().await;
    stub.when("doomed", [Answer::ok()]);
}

both!(a_bulk_retry_keeps_its_rate_also_over_a_restart, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&straight("github", &stub)).await;
    dead(&server, &stub, 21).await;
    let dry = server.cli(["jobs", "retry", "--all", "--dry-run"]).run().await;
    assert!(dry.output.contains("github-out: 21 jobs would be put back"), "{dry:?}");
    assert_eq!(server.jobs("?state=dead").await.len(), 21);
    let begun = Instant::now();
    let ran = server.cli(["jobs", "retry", "--fault", "refused", "--rate", "10"]).run().await;
    assert!(ran.output.contains("github-out: 21 jobs put back"), "{ran:?}");
    let again = server.cli(["jobs", "retry", "--all"]).run().await;
    assert!(again.output.contains("no dead job fits"), "{again:?}");
    server.restart().await;
    let received = stub.until(42).await;
    let last = received.iter().map(|one| one.begun).max().unwrap();
    assert!(last.duration_since(begun) >= Duration::from_millis(1990), "faster than asked");
    assert!(server.settled().await.iter().all(|job| job["state"] == "succeeded"));
    assert_eq!(stub.calls(), 42, "each once");
});

both!(live_deliveries_overtake_a_bulk_retry_in_their_own_lane_too, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    dead(&server, &stub, 3).await;
    // The first one comes at once, the others much later.
    let ran = server.command("/api/retries", json!({ "route": "github-out", "rate": 1 })).await;
    assert_eq!(ran["retried"]["github-out"], 3);
    stub.until(4).await;
    for n in 0..3 {
        let live = push(&format!("doomed{n}"), 100 + n);
        assert_eq!(server.post("github", live).await.status, 200);
    }
    let jobs = until("the live ones", async || {
        let jobs = server.jobs("?state=succeeded").await;
        let live = jobs.iter().filter(|job| job["key"].as_str().unwrap().contains("-10"));
        (live.count() == 3).then_some(jobs)
    })
    .await;
    assert!(jobs.len() < 6, "the last retry is not due for two seconds");
    let keys = keys_of(&stub.until(9).await);
    let place = |key: &str| keys.iter().rposition(|found| found == key).unwrap();
    assert!(place("doomed2-102") < place("doomed2-2"), "{keys:?}");
    server.settled().await;
    let numbers = stub
        .received()
        .iter()
        .filter(|one| key_of(one).starts_with("doomed2-"))
        .map(|one| number(one, "posthouse-sequence"))
        .collect::<Vec<_>>();
    assert_eq!(numbers, [1, 2, 3], "numbers follow what was sent");
});

both!(a_bulk_of_slow_old_jobs_leaves_places_for_live_ones, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    let workers = "[workers]\nconcurrency = 4\n";
    let server = world.serve(&(workers.to_owned() + &straight("github", &stub))).await;
    dead(&server, &stub, 20).await;
    stub.when("doomed", [Answer::ok().behind(&gate)]);
    let ran = server.command("/api/retries", json!({ "source": "github", "rate": 1000 })).await;
    assert_eq!(ran["retried"]["github-out"], 20);
    stub.until(22).await;
    let mut delays = Vec::new();
    for n in 0..20 {
        let sent = Instant::now();
        assert_eq!(server.post("github", push("live", n)).await.status, 200);
        let received = stub.until(23 + n).await;
        assert_eq!(key_of(received.last().unwrap()), format!("live-{n}"));
        delays.push(received.last().unwrap().begun.saturating_duration_since(sent));
    }
    delays.sort();
    println!("live ones waited {:?} in the middle and {:?} at most", delays[10], delays[19]);
    gate.open();
    server.settled().await;
    assert_eq!(stub.calls(), 60);
});

both!(two_bulk_retries_at_once_put_everything_back_once, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    dead(&server, &stub, 20).await;
    let body = || json!({ "source": "github", "rate": 1000 });
    let (one, other) = tokio::join!(
        server.command("/api/retries", body()),
        server.command("/api/retries", body())
    );
    let count = |report: &serde_json::Value| report["retried"]["github-out"].as_i64().unwrap_or(0);
    assert_eq!(count(&one) + count(&other), 20, "{one} {other}");
    stub.until(40).await;
    server.settled().await;
    assert_eq!(stub.calls(), 40);
});

both!(what_a_bulk_retry_is_asked_must_make_sense, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    for arguments in [
        &["jobs", "retry"][..],
        &["jobs", "retry", "--dry-run"],
        &["jobs", "retry", "--all", "--route", "github-out"],
        &["jobs", "retry", "1-0", "--all"],
        &["jobs", "retry", "--all", "--rate", "0"],
    ] {
        let ran = server.cli([]).arguments(arguments).run().await;
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    }
    let ran = server.cli(["jobs", "retry", "--route", "nowhere"]).run().await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for body in [json!({ "rate": 0 }), json!({ "fault": "nobody" }), json!({ "rout": "x" })] {
        assert_eq!(server.ask("POST", "/api/retries", Some(body)).await.status, 400);
    }
});

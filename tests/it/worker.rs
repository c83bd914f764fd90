//! Workers: when they start, how often they try, how they stop, and what they never do twice.

use crate::harness::*;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Sends one delivery, which is accepted. Its id.
async fn send(server: &Server, request: Request) -> String {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["delivery"].as_str().unwrap().to_owned()
}

/// The only job of a delivery, with its attempts.
async fn job_of(server: &Server, delivery: &str) -> Value {
    let shown = server.delivery(delivery).await;
    assert_eq!(shown["jobs"].as_array().unwrap().len(), 1, "{shown}");
    shown["jobs"][0].clone()
}

/// Waits until the only job of a delivery is in a state.
async fn until_state(server: &Server, delivery: &str, state: &str) -> Value {
    until(&format!("a job that is {state}"), async || {
        Some(job_of(server, delivery).await).filter(|job| job["state"] == *state)
    })
    .await
}

/// A time of the ledger in microseconds.
fn us(time: &Value) -> i64 {
    let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
    time.as_microsecond()
}

both!(a_lone_delivery_starts_at_once_and_not_at_the_next_poll, |world| async {
    let stub = Stub::ok().await;
    stub.when("again", [Answer::status(500), Answer::ok()]);
    let config = "[workers]\npoll = \"1m\"\n".to_owned() + &straight("github", &stub) + SOON;
    let server = world.serve(&config).await;
    let begun = Instant::now();
    for n in 0..5 {
        send(&server, push("one", n)).await;
        let answered = Instant::now();
        let started = stub.until(n + 1).await[n].begun;
        let waited = started.saturating_duration_since(answered);
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        server.settled().await;
    }
    // A second try and the next of a lane need no poll either.
    stub.when("two", [Answer::ok().after(Duration::from_millis(20))]);
    send(&server, push("again", 0)).await;
    send(&server, push("two", 1)).await;
    send(&server, push("two", 2)).await;
    server.settled().await;
    assert_eq!(stub.calls(), 5 + 2 + 2);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
});

both!(what_always_fails_dies_after_its_attempts_and_stays_dead, |world| async {
    let stub = Stub::ok().await;
    stub.when("poison", [Answer::status(500).body("boom ".repeat(1000))]);
    let config = straight("github", &stub) + "max_attempts = 4\nbackoff = \"20ms\"\n";
    let mut server = world.serve(&config).await;
    let poison = send(&server, push("poison", 1)).await;
    let other = send(&server, push("other", 2)).await;
    server.settled().await;
    let dead = job_of(&server, &poison).await;
    assert_eq!((&dead["state"], &dead["attempt_count"]), (&json!("dead"), &json!(4)));
    assert!(dead["reason"].as_str().unwrap().contains("500"), "{dead}");
    assert!(dead["settled_at"].is_string());
    let attempts = dead["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 4);
    for (index, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt["attempt"], json!(index + 1));
        assert_eq!((&attempt["outcome"], &attempt["status"]), (&json!("failed"), &json!(500)));
        let answer = attempt["answer"].as_str().unwrap();
        assert!(answer.starts_with("boom boom ") && answer.len() == 4096, "{}", answer.len());
    }
    assert_eq!(until_state(&server, &other, "succeeded").await["attempt_count"], 1);
    let calls = stub.received();
    let numbers = calls.iter().filter(|call| key_of(call) == "poison-1");
    let numbers: Vec<i64> = numbers.map(|call| number(call, "posthouse-attempt")).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(server.metric("posthouse_died_total{route=\"github-out\"}").await, 1.0);
    assert_eq!(server.metric("posthouse_jobs{state=\"dead\"}").await, 1.0);
    server.said("job dead").await;
    server.restart().await;
    assert_eq!(job_of(&server, &poison).await, dead);
    assert_eq!(server.metric("posthouse_jobs{state=\"dead\"}").await, 1.0);
});

both!(waits_grow_and_are_spread, |world| async {
    let stub = Stub::start([Answer::status(503)]).await;
    let config = straight("github", &stub) + "max_attempts = 4\nbackoff = \"100ms\"\n";
    let server = world.serve(&config).await;
    let mut deliveries = Vec::new();
    for n in 0..40 {
        deliveries.push(send(&server, push(&format!("branch{n}"), n)).await);
    }
    server.settled().await;
    // By its number, how long every job waited after an attempt.
    let mut waits = [const { Vec::new() }; 3];
    for delivery in deliveries {
        let job = job_of(&server, &delivery).await;
        let attempts = job["attempts"].as_array().unwrap();
        for (wait, pair) in waits.iter_mut().zip(attempts.windows(2)) {
            wait.push(us(&pair[1]["started_at"]) - us(&pair[0]["ended_at"]));
        }
    }
    let mean = |of: &[i64]| of.iter().sum::<i64>() / of.len() as i64;
    let [first, _, third] = &waits;
    // Drawn from 0 to 100 ms, and from 0 to 400 ms.
    assert!(mean(third) * 2 > mean(first) * 3, "{} {}", mean(first), mean(third));
    let spread = third.iter().max().unwrap() - third.iter().min().unwrap();
    assert!(spread > 100_000, "{third:?}");
});

both!(a_delivery_is_not_tried_beyond_its_age, |world| async {
    let stub = Stub::start([Answer::status(503)]).await;
    let retry = "max_age = \"1s\"\nbackoff = \"100ms\"\nbackoff_max = \"200ms\"\n";
    let server = world.serve(&(straight("github", &stub) + retry)).await;
    let delivery = send(&server, push("old", 1)).await;
    let dead = until_state(&server, &delivery, "dead").await;
    let attempts = dead["attempts"].as_array().unwrap();
    assert!((2..100).contains(&attempts.len()), "{dead}");
    let last = us(&attempts.last().unwrap()["started_at"]) - us(&dead["created_at"]);
    assert!(last < 1_500_000, "{dead}");
});

both!(an_attempt_may_take_longer_than_a_lease, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate)]).await;
    let config = "[workers]\nlease = \"1s\"\npoll = \"50ms\"\n".to_owned();
    let config = config + &straight("github", &stub) + SOON;
    let server = world.serve(&config).await;
    let delivery = send(&server, push("slow", 1)).await;
    stub.until(1).await;
    // Somebody else is there who would take it over.
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    let second = second.serve().await;
    let first = us(&job_of(&server, &delivery).await["lease_until"]);
    until("the lease to be prolonged twice over", async || {
        (us(&job_of(&server, &delivery).await["lease_until"]) > first + 2_500_000).then_some(())
    })
    .await;
    gate.open();
    let job = until_state(&server, &delivery, "succeeded").await;
    assert_eq!((stub.calls(), &job["attempt_count"]), (1, &json!(1)));
    for worker in [&server, &second] {
        assert_eq!(worker.metric("posthouse_takeovers_total").await, 0.0);
        assert_eq!(worker.metric("posthouse_leases_lost_total").await, 0.0);
    }
});

both!(sigterm_lets_the_running_attempt_finish, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("\"n\":1,", [Answer::ok().behind(&gate)]);
    let mut server = world.serve(&straight("github", &stub)).await;
    let running = send(&server, push("one", 1)).await;
    let waiting = send(&server, push("one", 2)).await;
    stub.until(1).await;
    let mut wire = server.wire().await;
    server.signal(Signal::SIGTERM);
    // What comes meanwhile is recorded or not answered with 2xx.
    let mut accepted = vec![running, waiting];
    for n in 3.. {
        let request = push("late", n).to("/hooks/github");
        let Ok(answer) = wire.exchange(&request).await else { break };
        match answer.status {
            200 => accepted.push(answer.json()["delivery"].as_str().unwrap().to_owned()),
            status => assert_eq!(status, 503),
        }
        let Ok(again) = Wire::connect(server.public()).await else { break };
        wire = again;
    }
    assert_eq!(stub.received()[0].ended, None, "it is still held");
    gate.open();
    assert_eq!(server.ended().await.code(), Some(0));
    server.restart().await;
    server.settled().await;
    for delivery in &accepted {
        let job = job_of(&server, delivery).await;
        assert_eq!((&job["state"], &job["attempt_count"]), (&json!("succeeded"), &json!(1)));
    }
    assert_eq!(server.deliveries("").await.len(), accepted.len());
    assert_eq!(stub.calls(), accepted.len(), "each was sent once");
});

both!(a_worker_that_stops_breaks_off_what_does_not_end, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("one", [Answer::ok().behind(&gate), Answer::ok()]);
    let config = "[workers]\nshutdown = \"200ms\"\n".to_owned() + &straight("github", &stub) + SOON;
    let mut server = world.serve(&config).await;
    let delivery = send(&server, push("one", 1)).await;
    stub.until(1).await;
    assert_eq!(server.stop().await.code(), Some(0));
    server.restart().await;
    let job = until_state(&server, &delivery, "succeeded").await;
    let attempts = job["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["outcome"], "uncertain");
    assert!(attempts[0]["detail"].as_str().unwrap().contains("shutdown"), "{job}");
    let calls = stub.received();
    assert_eq!(calls[0].header("idempotency-key"), calls[1].header("idempotency-key"));
    assert_eq!([0, 1].map(|call| number(&calls[call], "posthouse-attempt")), [1, 2]);
    // The next owner did not have to wait for the end of a lease.
    assert_eq!(server.metric("posthouse_takeovers_total").await, 0.0);
});

both!(a_cancelled_attempt_cannot_settle_any_more, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("\"n\":1,", [Answer::ok().behind(&gate)]);
    let server = world.serve(&straight("github", &stub)).await;
    let first = send(&server, push("one", 1)).await;
    let second = send(&server, push("one", 2)).await;
    stub.until(1).await;
    let id = job_of(&server, &first).await["id"].as_str().unwrap().to_owned();
    server.command(&format!("/api/jobs/{id}/cancel"), json!({})).await;
    until_state(&server, &second, "succeeded").await;
    gate.open();
    until("the late settle to be refused", async || {
        (server.metric("posthouse_leases_lost_total").await == 1.0).then_some(())
    })
    .await;
    server.said("the settle was refused").await;
    let job = job_of(&server, &first).await;
    assert_eq!((&job["state"], &job["attempts"]), (&json!("cancelled"), &json!([])));
});

both!(a_cancelled_attempt_is_broken_off, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate)]).await;
    let config = "[workers]\nlease = \"1s\"\nconcurrency = 1\n".to_owned();
    let server = world.serve(&(config + &straight("github", &stub))).await;
    let first = send(&server, push("one", 1)).await;
    stub.until(1).await;
    let id = job_of(&server, &first).await["id"].as_str().unwrap().to_owned();
    let ran = server.cli(["jobs", "cancel", &id]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    // The only place is free again, although the destination never answered.
    send(&server, push("two", 2)).await;
    stub.until(2).await;
    assert_eq!(stub.received()[0].ended, None);
    server.said("the attempt was broken off").await;
    assert_eq!(job_of(&server, &first).await["state"], "cancelled");
});

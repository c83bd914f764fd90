//! Lanes: one at a time, in order, and never held up by one another.

use crate::harness::*;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// So many places for jobs.
fn workers(concurrency: usize) -> String {
    format!("[workers]\nconcurrency = {concurrency}\n")
}

/// Sends deliveries one after the other; all are accepted.
async fn send(server: &Server, requests: impl IntoIterator<Item = Request>) {
    for request in requests {
        let answer = server.post("github", request).await;
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("accepted")));
    }
}

/// The state of a job by the key of its delivery.
fn state_of(jobs: &[Value], key: &str) -> String {
    let job = jobs.iter().find(|job| job["key"] == *key);
    job.unwrap_or_else(|| panic!("no job of {key}"))["state"].as_str().unwrap().to_owned()
}

both!(a_lane_is_worked_off_one_at_a_time_and_in_order, |world| async {
    let stub = Stub::start([Answer::ok().after(Duration::from_millis(20))]).await;
    let server = world.serve(&(workers(8) + &straight("github", &stub))).await;
    send(&server, (0..12).map(|n| push("one", n))).await;
    let received = stub.until(12).await;
    server.settled().await;
    let lanes = by_lane(&received);
    let expected: Vec<String> = (0..12).map(|n| format!("one-{n}")).collect();
    assert_eq!(keys_of(&lanes[&lane_of("one")]), expected);
    assert_eq!(stub.open_most(), 1);
    let numbers: Vec<i64> = received.iter().map(|one| number(one, "posthouse-sequence")).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
});

both!(what_is_about_nothing_runs_side_by_side, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("free", [Answer::ok().behind(&gate)]);
    let server = world.serve(&(workers(8) + &straight("github", &stub))).await;
    send(&server, (0..4).map(|n| github(&format!("free-{n}"), r#"{"free":true}"#))).await;
    let received = stub.until(4).await;
    assert_eq!(stub.open_most(), 4, "all four are held at once");
    gate.open();
    server.settled().await;
    for one in received {
        assert_eq!(one.header("posthouse-lane"), None);
        assert_eq!(one.header("posthouse-sequence"), None);
    }
});

both!(a_route_without_order_runs_one_entity_side_by_side, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate)]).await;
    let config = workers(8) + &straight("github", &stub) + "order = \"none\"\n";
    let server = world.serve(&config).await;
    send(&server, (0..3).map(|n| push("one", n))).await;
    stub.until(3).await;
    assert_eq!(stub.open_most(), 3);
    gate.open();
    server.settled().await;
});

both!(events_of_the_same_second_are_not_stale, |world| async {
    let stub = Stub::start([Answer::ok().after(Duration::from_millis(20))]).await;
    let server = world.serve(&straight("stripe", &stub)).await;
    let steps = [("created", "trialing"), ("updated", "active"), ("updated", "past_due")];
    for (n, (kind, status)) in steps.into_iter().enumerate() {
        let object = format!(r#"{{"object":{{"id":"sub_1","status":"{status}"}}}}"#);
        let head = format!(r#""id":"evt_t_{n}","type":"customer.subscription.{kind}""#);
        let body = format!(r#"{{{head},"created":1700000500,"data":{object}}}"#);
        assert_eq!(server.post("stripe", stripe(body)).await.status, 200);
    }
    let received = stub.until(3).await;
    server.settled().await;
    assert_eq!(stub.calls(), 3);
    let lanes = by_lane(&received);
    assert_eq!(lanes.keys().collect::<Vec<_>>(), ["sub_1"]);
    for (n, one) in lanes["sub_1"].iter().enumerate() {
        assert_eq!(key_of(one), format!("evt_t_{n}"));
        let occurred = one.header("posthouse-occurred-at");
        assert_eq!(occurred.as_deref(), Some("2023-11-14T22:21:40Z"));
    }
});

both!(a_failing_lane_does_not_hold_up_the_others, |world| async {
    let stub = Stub::ok().await;
    stub.when("heads/bad", [Answer::status(500)]);
    // As many failing lanes as places, and one more.
    let config = workers(3) + &straight("github", &stub) + "backoff = \"1h\"\n";
    let server = world.serve(&config).await;
    let bad = (0..4).flat_map(|lane| (0..2).map(move |n| push(&format!("bad{lane}"), n)));
    send(&server, bad).await;
    send(&server, (0..10).map(|n| push(&format!("good{n}"), n))).await;
    let (mut jobs, mut states) = (Vec::new(), Vec::new());
    until("the good to be delivered and the bad to wait", async || {
        jobs = server.jobs("").await;
        let count = |state: &str| jobs.iter().filter(|job| job["state"] == *state).count();
        states = ["succeeded", "retrying", "waiting"].map(count).to_vec();
        (states == [10, 4, 4]).then_some(())
    })
    .await;
    let sent: HashSet<String> = keys_of(&stub.received()).into_iter().collect();
    assert!((0..10).all(|n| sent.contains(&format!("good{n}-{n}"))), "{sent:?}");
    assert!((0..4).all(|lane| !sent.contains(&format!("bad{lane}-1"))), "{sent:?}");
    // Whoever waits is told for whom.
    let head = jobs.iter().find(|job| job["key"] == "bad0-0").unwrap();
    let second = jobs.iter().find(|job| job["key"] == "bad0-1").unwrap();
    let told = server.get(&format!("/api/jobs/{}", second["id"].as_str().unwrap())).await;
    assert_eq!(told["behind"]["job"], head["id"], "{told}");
});

both!(two_routes_of_a_source_have_lanes_of_their_own, |world| async {
    let (slow, quick, gate) = (Stub::ok().await, Stub::ok().await, Gate::closed());
    slow.when("heads", [Answer::ok().behind(&gate)]);
    let config = source("github") + &destination("slow", &slow) + &destination("quick", &quick);
    let config = config + &route("github", "slow") + &route("github", "quick");
    let server = world.serve(&config).await;
    send(&server, (0..3).map(|n| push("one", n))).await;
    let received = quick.until(3).await;
    assert_eq!(keys_of(&received), ["one-0", "one-1", "one-2"]);
    assert_eq!(keys_of(&slow.until(1).await), ["one-0"]);
    gate.open();
    server.settled().await;
    assert_eq!(keys_of(&slow.received()), ["one-0", "one-1", "one-2"]);
    assert_eq!(slow.open_most(), 1);
});

both!(a_dead_job_lets_its_lane_go_on, |world| async {
    let stub = Stub::ok().await;
    stub.when("\"n\":0", [Answer::status(400)]);
    let server = world.serve(&straight("github", &stub)).await;
    send(&server, (0..3).map(|n| push("one", n))).await;
    let jobs = server.settled().await;
    assert_eq!(keys_of(&stub.received()), ["one-0", "one-1", "one-2"]);
    let states = ["one-0", "one-1", "one-2"].map(|key| state_of(&jobs, key));
    assert_eq!(states, ["dead", "succeeded", "succeeded"]);
    by_lane(&stub.received());
});

both!(a_dead_job_halts_its_lane_where_the_route_says_so, |world| async {
    let stub = Stub::ok().await;
    stub.when("heads/one\",\"n\":0", [Answer::status(400), Answer::ok()]);
    stub.when("heads/two\",\"n\":0", [Answer::status(400)]);
    let config = straight("github", &stub) + "on_dead = \"halt\"\n";
    let server = world.serve(&config).await;
    let all = ["one", "two", "three"].map(|branch| (0..3).map(move |n| push(branch, n)));
    send(&server, all.into_iter().flatten()).await;
    until("two lanes to halt and the third to be done", async || {
        let jobs = server.jobs("").await;
        let count = |state: &str| jobs.iter().filter(|job| job["state"] == *state).count();
        (["dead", "waiting", "succeeded"].map(count) == [2, 4, 3]).then_some(())
    })
    .await;
    assert_eq!(server.metric("posthouse_halted_lanes").await, 2.0);
    let jobs = server.jobs("").await;
    let dead = |key: &str| {
        let job = jobs.iter().find(|job| job["key"] == *key).unwrap();
        assert_eq!(
            (job["state"].as_str(), job["halts_lane"].as_bool()),
            (Some("dead"), Some(true))
        );
        job["id"].as_str().unwrap().to_owned()
    };
    // One is tried again, and its lane goes on behind it; the other is called off.
    let ran = server.cli(["jobs", "retry", &dead("one-0")]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let ran = server.cli(["jobs", "cancel", &dead("two-0")]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let jobs = server.settled().await;
    let lanes = by_lane(&stub.received());
    assert_eq!(keys_of(&lanes[&lane_of("one")]), ["one-0", "one-0", "one-1", "one-2"]);
    assert_eq!(keys_of(&lanes[&lane_of("two")]), ["two-0", "two-1", "two-2"]);
    assert_eq!(state_of(&jobs, "two-0"), "cancelled");
    let numbers = lanes[&lane_of("one")].iter().map(|one| number(one, "posthouse-sequence"));
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 1, 2, 3]);
    until("no lane to stand still", async || {
        (server.metric("posthouse_halted_lanes").await == 0.0).then_some(())
    })
    .await;
});

both!(a_crowd_of_senders_and_failures_leaves_every_lane_in_order, |world| async {
    let stub = Stub::ok().await;
    // Of every seven deliveries one is refused twice before it is taken.
    for n in (0..40).step_by(7) {
        let answers = [Answer::status(503), Answer::status(500), Answer::ok()];
        (0..8).for_each(|lane| stub.when(&format!("lane{lane}\",\"n\":{n},"), answers.clone()));
    }
    let config = workers(6) + &straight("github", &stub) + SOON;
    let server = world.serve(&config).await;
    let requests = (0..40).flat_map(|n| (0..8).map(move |lane| push(&format!("lane{lane}"), n)));
    let requests = requests.map(|request| request.to("/hooks/github")).collect();
    let heard = send_all(server.public(), requests, 16, Arc::new(AtomicUsize::new(0))).await;
    assert!(heard.iter().flatten().filter(|answer| answer.status == 200).count() == 320);
    server.settled().await;
    let failing = |n: usize| if n.is_multiple_of(7) { 2 } else { 0 };
    let calls: usize = (0..40).map(|n| 1 + failing(n)).sum::<usize>() * 8;
    assert_eq!(stub.calls(), calls);
    for (lane, received) in by_lane(&stub.received()) {
        assert_eq!(received.iter().map(key_of).collect::<HashSet<_>>().len(), 40, "{lane}");
        in_order(&received, |one| {
            let n: usize = key_of(one).rsplit('-').next().unwrap().parse().unwrap();
            number(one, "posthouse-attempt") as usize == 1 + failing(n)
        });
    }
});

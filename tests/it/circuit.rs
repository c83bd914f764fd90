//! Circuits: a destination that fails is left alone, and one job at a time finds out whether it is
//! back.

use crate::harness::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The destination `out`, which fails after so many attempts and is then left alone.
fn guarded(stub: &Stub, circuit: &str) -> String {
    let url = stub.url();
    let out = format!("[destinations.out]\ntype = \"http\"\nurl = {url:?}\nallow_private = true\n");
    source("github") + &out + "[destinations.out.circuit]\n" + circuit + &route("github", "out")
}

/// For as long as a case can last.
const LONG: &str = "attempts = 4\ncooldown = \"1h\"\n";

/// The circuit of `out`, as the API shows it.
async fn circuit(server: &Server) -> Value {
    let listed = server.get("/api/destinations").await;
    let items = listed["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == "out").unwrap()["circuit"].clone()
}

async fn is_in(server: &Server, state: &str) -> Value {
    until(&format!("the circuit to be {state}"), async || {
        Some(circuit(server).await).filter(|circuit| circuit["state"] == state)
    })
    .await
}

/// Lets the time come at which a job may try.
async fn time_comes(world: &World) {
    world.database.run("UPDATE circuits SET until_us = 1").await;
}

async fn send(server: &Server, branches: &[&str]) {
    for branch in branches {
        assert_eq!(server.post("github", push(branch, 1)).await.status, 200);
    }
}

/// Waits until nothing is under way.
async fn idle(server: &Server) {
    until("nothing to be under way", async || {
        server.jobs("?state=running").await.is_empty().then_some(())
    })
    .await;
}

const OPENED: &str = "posthouse_circuit_opened_total{destination=\"out\"}";

both!(while_it_is_open_jobs_wait_without_using_up_attempts_and_others_go_on, |world| async {
    let (stub, other) = (Stub::start([Answer::status(503)]).await, Stub::ok().await);
    let poll = "[workers]\npoll = \"20ms\"\n".to_owned();
    let config = poll + &guarded(&stub, LONG) + SOON + "max_attempts = 6\n";
    let config = config + &destination("other", &other) + &route("github", "other");
    let mut server = world.serve(&config).await;
    send(&server, &["a", "b", "c", "d", "e", "f"]).await;
    server.said("circuit open").await;
    idle(&server).await;
    let calls = stub.calls();
    assert!(calls < 6 * 6, "{calls}");
    assert_eq!(server.metric(OPENED).await, 1.0);

    // Later deliveries wait as well, here and after a restart; the other destination gets them.
    send(&server, &["g", "h"]).await;
    other.until(8).await;
    idle(&server).await;
    server.restart().await;
    send(&server, &["i"]).await;
    other.until(9).await;
    assert_eq!(stub.calls(), calls);
    assert_eq!(server.metric("posthouse_circuit_open{destination=\"out\"}").await, 1.0);
    let jobs = server.jobs("?route=github-out").await;
    let count = |job: &Value| job["attempt_count"].as_u64().unwrap();
    assert_eq!(jobs.iter().map(count).sum::<u64>(), calls as u64, "{jobs:#?}");
    let is_open = |job: &Value| job["state"] == "ready" || job["state"] == "retrying";
    assert!(jobs.iter().all(is_open), "{jobs:#?}");

    // Whoever asks is told why.
    let open = circuit(&server).await;
    assert_eq!((&open["state"], &open["opens"]), (&json!("open"), &json!(1)));
    assert!(open["reason"].as_str().unwrap().contains("attempts within 30s failed: 503"), "{open}");
    let time = |field: &str| open[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let left = time("until").duration_since(time("since"));
    assert!((3590..3610).contains(&left.as_secs()), "{open}");
    let last = jobs.iter().find(|job| job["key"] == "i-1").unwrap();
    for command in [["jobs", "show"], ["deliveries", "show"]] {
        let id = if command[0] == "jobs" { &last["id"] } else { &last["delivery"] };
        let ran = server.cli([command[0], command[1], id.as_str().unwrap()]).run().await;
        assert!(ran.output.contains("its destination's CIRCUIT is open since"), "{ran:?}");
        assert!(!ran.output.contains("no worker took it"), "{ran:?}");
    }
    let ran = server.cli(["destinations"]).run().await;
    let line = ran.output.lines().find(|line| line.starts_with("out")).unwrap();
    assert!(line.contains("http") && line.contains(" open ") && line.contains("503"), "{ran:?}");

    // A trial that fails leaves it open, one that succeeds closes it, and all is delivered.
    time_comes(&world).await;
    until("the trial to fail", async || (circuit(&server).await["opens"] == 2).then_some(())).await;
    assert_eq!((stub.calls(), server.metric(OPENED).await), (calls + 1, 1.0), "since the restart");
    stub.when("ref", [Answer::ok()]);
    time_comes(&world).await;
    let jobs = server.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    assert_eq!(stub.calls(), calls + 1 + 9);
    is_in(&server, "closed").await;
    server.said("circuit closed").await;
});

both!(a_process_that_starts_heeds_what_another_one_found_out, |world| async {
    let (stub, other) = (Stub::start([Answer::status(503)]).await, Stub::ok().await);
    // It has never looked at a circuit when it claims, and its routes in the order of their names.
    let config = "[workers]\npoll = \"1m\"\n".to_owned() + &guarded(&stub, LONG) + SOON;
    let config = config + &destination("zuletzt", &other) + &route("github", "zuletzt");
    let mut server = world.serve(&config).await;
    send(&server, &["a", "b", "c", "d"]).await;
    is_in(&server, "open").await;
    send(&server, &["e", "f"]).await;
    other.until(6).await;
    idle(&server).await;
    let attempts = "SELECT CAST(sum(attempts) AS BIGINT) FROM jobs WHERE route = 'github-out'";
    let before = world.database.number(attempts).await;
    server.restart().await;
    send(&server, &["g"]).await;
    other.until(7).await;
    assert_eq!(world.database.number(attempts).await, before);
});

both!(the_wait_doubles_with_every_trial_that_fails_and_nobody_spins, |world| async {
    let failing = vec![Answer::status(500); 7];
    let stub = Stub::start([failing.as_slice(), &[Answer::ok()]].concat()).await;
    let circuit = "attempts = 2\ncooldown = \"100ms\"\n";
    let config = "[workers]\npoll = \"1m\"\n".to_owned() + &guarded(&stub, circuit) + SOON;
    let server = world.serve(&config).await;
    let before = server.metric("posthouse_claims_total").await;
    send(&server, &["a"]).await;
    let jobs = server.settled().await;
    assert_eq!((&jobs[0]["state"], &jobs[0]["attempt_count"]), (&json!("succeeded"), &json!(8)));
    let calls = stub.received();
    let gap = |at: usize| calls[at].begun.duration_since(calls[at - 1].ended.unwrap());
    for (at, least_ms) in [(2, 100), (3, 200), (4, 400), (5, 800), (6, 1000), (7, 1000)] {
        assert!(gap(at) >= Duration::from_millis(least_ms), "{at}: {:?}", gap(at));
        assert!(gap(at) < Duration::from_millis(least_ms + 1500), "{at}: {:?}", gap(at));
    }
    assert_eq!(server.metric(OPENED).await, 6.0);
    let claims = server.metric("posthouse_claims_total").await - before;
    assert!(claims < 40.0, "{claims} claims for 8 attempts");
});

both!(when_it_closes_all_go_on_at_once, |world| async {
    let stub = Stub::start([Answer::status(503)]).await;
    let circuit = "attempts = 4\ncooldown = \"300ms\"\n";
    let config = "[workers]\npoll = \"1m\"\n".to_owned() + &guarded(&stub, circuit) + SOON;
    let server = world.serve(&config).await;
    send(&server, &["a", "b", "c", "d", "e", "f", "g", "h"]).await;
    server.said("circuit open").await;
    stub.when("ref", [Answer::ok()]);
    server.said("circuit closed").await;
    let closed = Instant::now();
    let jobs = server.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    // Far less than a poll, and than the time for which a trial is held.
    assert!(closed.elapsed() < Duration::from_secs(10), "{:?}", closed.elapsed());
});

both!(what_was_under_way_before_it_opened_neither_closes_nor_reopens_it, |world| async {
    let [good, bad] = [Gate::closed(), Gate::closed()];
    let stub = Stub::start([Answer::status(503)]).await;
    stub.when("heads/good", [Answer::ok().behind(&good)]);
    stub.when("heads/bad", [Answer::status(503).behind(&bad)]);
    let poll = "[workers]\npoll = \"20ms\"\n".to_owned();
    let touchy = LONG.to_owned() + "failures = 20\n";
    let server = world.serve(&(poll + &guarded(&stub, &touchy) + SOON)).await;
    send(&server, &["good", "bad1", "bad2", "bad3", "bad4"]).await;
    stub.until(5).await;
    send(&server, &["a", "b", "c", "d"]).await;
    is_in(&server, "open").await;

    let state_of = async |key: &str| {
        let jobs = server.jobs("").await;
        jobs.iter().find(|job| job["key"] == key).unwrap()["state"].clone()
    };
    good.open();
    until("the good one to be settled", async || {
        (state_of("good-1").await == "succeeded").then_some(())
    })
    .await;
    assert_eq!(open_rows(&world).await, 1, "still open");

    stub.when("ref", [Answer::ok()]);
    time_comes(&world).await;
    is_in(&server, "closed").await;
    for key in ["a-1", "b-1", "c-1", "d-1"] {
        until("what waited", async || (state_of(key).await == "succeeded").then_some(())).await;
    }
    bad.open();
    let jobs = server.settled().await;
    for job in jobs.iter().filter(|job| job["key"].as_str().unwrap().starts_with("bad")) {
        assert_eq!((&job["state"], &job["attempt_count"]), (&json!("succeeded"), &json!(2)));
    }
    assert_eq!(server.metric(OPENED).await, 1.0);
    assert_eq!(circuit(&server).await, json!({ "state": "closed" }));
});

async fn open_rows(world: &World) -> i64 {
    world.database.number("SELECT count(*) FROM circuits WHERE state = 'open'").await
}

both!(a_destination_that_answers_is_alive_whatever_it_answers, |world| async {
    let stub = Stub::start([Answer::status(400)]).await;
    let server = world.serve(&guarded(&stub, LONG)).await;
    send(&server, &["a", "b", "c", "d", "e", "f"]).await;
    let jobs = server.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "dead"), "{jobs:#?}");
    assert_eq!((stub.calls(), server.metric(OPENED).await), (6, 0.0));
    // Nobody at the other end is a failure.
    let nobody = format!("http://127.0.0.1:{}/", wire::free_port());
    let config = guarded(&stub, LONG).replace(&stub.url(), &nobody) + SOON;
    drop(server);
    let server = world.serve(&config).await;
    send(&server, &["g", "h"]).await;
    let open = is_in(&server, "open").await;
    assert!(open["reason"].as_str().unwrap().contains("connection refused"), "{open}");
});

both!(without_a_circuit_in_the_configuration_nothing_waits_for_an_old_one, |world| async {
    let stub = Stub::start([Answer::status(503)]).await;
    let server = world.serve(&(guarded(&stub, LONG) + SOON)).await;
    send(&server, &["a", "b", "c", "d"]).await;
    is_in(&server, "open").await;
    idle(&server).await;
    drop(server);
    stub.when("ref", [Answer::ok()]);
    let server = world.serve(&guarded(&stub, "enabled = false\n")).await;
    server.settled().await;
    assert_eq!(circuit(&server).await, Value::Null);
    server.said("forgot the circuit").await;
    assert_eq!(world.database.number("SELECT count(*) FROM circuits").await, 0);
    // Nor for one that a process of the former configuration opens now.
    let open = "INSERT INTO circuits (destination, state, since_us, until_us, opens, reason)
        VALUES ('out', 'open', 1, 9000000000000000, 1, 'of another process')";
    world.database.run(open).await;
    send(&server, &["e"]).await;
    let jobs = server.settled().await;
    assert_eq!((&jobs[0]["key"], &jobs[0]["state"]), (&json!("e-1"), &json!("succeeded")));
});

both!(the_list_of_destinations_says_how_each_is_set_up, |world| async {
    let stub = Stub::ok().await;
    let url = stub.url();
    let config = source("github")
        + &format!("[destinations.http]\ntype = \"http\"\nurl = {url:?}\nallow_private = true\n")
        + "rate = 50\nconcurrency = 4\n[destinations.log]\ntype = \"log\"\n"
        + "[destinations.run]\ntype = \"command\"\nargv = [\"/bin/true\"]\n"
        + &["http", "log", "run"].map(|to| route("github", to)).concat();
    let server = world.serve(&config).await;
    let ran = server.cli(["pause", "destination", "log", "--reason", "dinner"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let listed = server.get("/api/destinations").await;
    let [http, log, run] = [0, 1, 2].map(|at| listed["items"][at].clone());
    assert_eq!(
        http,
        json!({ "name": "http", "type": "http", "idempotent": true, "running": 0, "paused": null,
            "circuit": { "state": "closed" }, "rate_per_s": 50, "concurrency": 4 })
    );
    let shown = (&log["type"], &log["circuit"], &log["paused"]["reason"]);
    assert_eq!(shown, (&json!("log"), &Value::Null, &json!("dinner")));
    assert_eq!((&run["type"], &run["idempotent"]), (&json!("command"), &json!(false)));
    let ran = server.cli(["destinations"]).run().await;
    let lines: Vec<&str> = ran.output.lines().collect();
    assert!(lines.len() == 4 && lines[1].contains("50    4            closed"), "{ran:?}");
});

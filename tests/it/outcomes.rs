//! Outcomes told apart: what may have happened is not repeated where a repeat would do harm, and
//! somebody, or the destination itself, says what it was.

use crate::harness::*;
use serde_json::{Value, json};
use std::time::Duration;

/// One source, delivered to a stub that does not recognise repeats.
fn delicate(stub: &Stub, more: &str) -> String {
    let out = out(stub) + "idempotent = false\ntimeout = \"400ms\"\n" + more;
    source("github") + &out + &route("github", "out") + SOON
}

/// Never answers.
fn silent() -> Answer {
    Answer::ok().behind(&Gate::closed())
}

async fn send(server: &Server, request: Request) -> String {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["delivery"].as_str().unwrap().to_owned()
}

/// Waits until the only job of a delivery is in a state, and returns it with its attempts.
async fn until_state(server: &Server, delivery: &str, state: &str) -> Value {
    until(&format!("a job that is {state}"), async || {
        let job = server.delivery(delivery).await["jobs"][0].clone();
        (job["state"] == state).then_some(job)
    })
    .await
}

fn outcomes(job: &Value) -> Vec<&str> {
    let attempts = job["attempts"].as_array().unwrap().iter();
    attempts.map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}

fn id(job: &Value) -> &str {
    job["id"].as_str().unwrap()
}

both!(an_uncertain_attempt_is_not_repeated_and_its_lane_goes_on, |world| async {
    let stub = Stub::start([silent(), Answer::ok()]).await;
    let server = world.serve(&delicate(&stub, "")).await;
    let first = send(&server, push("one", 1)).await;
    let job = until_state(&server, &first, "uncertain").await;
    assert_eq!((outcomes(&job), &job["fault"]), (vec!["uncertain"], &json!("unreachable")));
    let second = send(&server, push("one", 2)).await;
    until_state(&server, &second, "succeeded").await;
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-2"]);
    assert_eq!(server.metric("posthouse_jobs{state=\"uncertain\"}").await, 1.0);
    // A redelivery by the sender says nothing about what became of it.
    let again = server.post("github", push("one", 1)).await.json();
    assert_eq!((&again["status"], &again["state"]), (&json!("duplicate"), &json!("uncertain")));

    let ran = server.cli(["jobs", "retry", id(&job)]).run().await;
    assert_eq!(ran.code, Some(1), "a retry is no way to decide a doubt: {ran:?}");
    let ran = server.cli(["jobs", "resolve", id(&job)]).run().await;
    assert_eq!(ran.code, Some(2), "it wants to know how");
    let ran = server.cli(["jobs", "resolve", id(&job), "--succeeded"]).run().await;
    assert_eq!((ran.code, ran.output.contains("succeeded")), (Some(0), true), "{ran:?}");
    let ran = server.cli(["jobs", "resolve", id(&job), "--failed"]).run().await;
    assert_eq!(ran.code, Some(1), "it is decided already: {ran:?}");
    let shown = server.delivery(&first).await;
    assert_eq!(shown["jobs"][0]["state"], "succeeded");
    assert_eq!(shown["operations"][0]["detail"], "succeeded (operator)");
    assert_eq!(stub.calls(), 2);
});

both!(a_lane_can_halt_at_a_doubt_and_goes_on_when_it_is_resolved, |world| async {
    for (flag, expected) in [
        ("--retry", "one-1 one-1 one-2"),
        ("--failed", "one-1 one-2"),
        ("--succeeded", "one-1 one-2"),
    ] {
        let stub = Stub::start([silent(), Answer::ok()]).await;
        let name = flag.trim_start_matches('-');
        let config = delicate(&stub, "") + "on_uncertain = \"halt\"\n";
        let config = config.replace("[[routes]]\n", &format!("[[routes]]\nname = {name:?}\n"));
        let mut server = world.serve(&config).await;
        let key = |n: usize| push(&format!("one{name}"), n);
        let first = send(&server, key(1)).await;
        let job = until_state(&server, &first, "uncertain").await;
        assert_eq!(job["halts_lane"], true);
        let second = send(&server, key(2)).await;
        let waiting = until_state(&server, &second, "waiting").await;
        assert_eq!(waiting["behind"]["job"], job["id"]);
        server.restart().await;
        until_state(&server, &second, "waiting").await;
        let ran = server.cli(["jobs", "resolve", id(&job), flag]).run().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        until_state(&server, &second, "succeeded").await;
        let received = stub.received();
        let expected = expected.replace("one", &format!("one{name}"));
        assert_eq!(keys_of(&received).join(" "), expected);
        if flag == "--retry" {
            let keys: Vec<_> = received.iter().map(|one| one.header("idempotency-key")).collect();
            assert_eq!(keys[0], keys[1], "the same key, whoever lets it happen again");
        }
        let job = server.delivery(&first).await["jobs"][0].clone();
        let state = if flag == "--failed" { "dead" } else { "succeeded" };
        assert_eq!(job["state"], state);
        let dead = server.jobs("?state=dead&fault=unreachable").await;
        assert_eq!(dead.iter().any(|dead| dead["id"] == job["id"]), flag == "--failed");
    }
});

both!(a_destination_can_say_whether_it_happened, |world| async {
    let stub = Stub::start([silent(), silent(), Answer::ok()]).await;
    stub.when("\"n\":1,", [silent()]);
    // The first is not known yet, and then it did happen; the second did not.
    let oracle = Stub::start([Answer::status(503), Answer::status(200)]).await;
    let url = oracle.url().replace("/in", "/done/{idempotency_key}");
    let server = world.serve(&delicate(&stub, &format!("reconcile = {url:?}\n"))).await;
    let first = send(&server, push("one", 1)).await;
    let job = until_state(&server, &first, "uncertain").await;
    assert!(job["asked_again_at"].is_string(), "{job}");
    until_state(&server, &first, "succeeded").await;
    let asked = oracle.received();
    let expected = "/done/github%3Aone-1%3Agithub-out";
    assert_eq!(asked.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), [expected; 2]);
    assert_eq!(stub.calls(), 1, "what happened is not done again");

    oracle.when("", [Answer::status(404)]);
    let second = send(&server, push("two", 2)).await;
    let job = until_state(&server, &second, "succeeded").await;
    assert_eq!(outcomes(&job), ["uncertain", "uncertain", "accepted"]);
    let received = stub.received();
    let keys: Vec<_> = received[1..].iter().map(|one| one.header("idempotency-key")).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let operations = server.delivery(&second).await["operations"].clone();
    assert_eq!(operations[0]["detail"], "retry (probe)");
});

both!(killed_between_the_answer_of_a_destination_and_its_note_it_asks_again, |world| async {
    let stub = Stub::start([silent()]).await;
    let (gate, oracle) = (Gate::closed(), Stub::ok().await);
    oracle.when("", [Answer::ok().behind(&gate), Answer::ok()]);
    let url = oracle.url().replace("/in", "/done/{idempotency_key}");
    let mut server = world.serve(&delicate(&stub, &format!("reconcile = {url:?}\n"))).await;
    let first = send(&server, push("one", 1)).await;
    oracle.until(1).await;
    server.kill();
    gate.open();
    // Whoever asked would have asked again after a minute.
    world.database.run("UPDATE jobs SET probe_us = 1 WHERE state = 'uncertain'").await;
    server.restart().await;
    until_state(&server, &first, "succeeded").await;
    assert_eq!((oracle.calls(), stub.calls()), (2, 1));
});

both!(a_worker_that_dies_at_work_leaves_a_doubt_not_a_repeat, |world| async {
    for idempotent in [false, true] {
        let (gate, stub) = (Gate::closed(), Stub::ok().await);
        stub.when("", [Answer::ok().behind(&gate), Answer::ok()]);
        let config = format!("[workers]\nlease = \"1s\"\n{}", delicate(&stub, ""));
        let config = config.replace("\"400ms\"", "\"30s\"");
        let config = config.replace("idempotent = false", &format!("idempotent = {idempotent}"));
        let mut server = world.serve(&config).await;
        let delivery = send(&server, push(&format!("lane-{idempotent}"), 1)).await;
        stub.until(1).await;
        server.kill();
        server.restart().await;
        let state = if idempotent { "succeeded" } else { "uncertain" };
        let job = until_state(&server, &delivery, state).await;
        assert_eq!(outcomes(&job)[0], "uncertain");
        assert_eq!(stub.calls(), 1 + usize::from(idempotent));
        gate.open();
    }
});

both!(only_what_had_no_effect_is_tried_again_at_once, |world| async {
    let port = wire::free_port();
    let nobody =
        format!("type = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\nallow_private = true\n");
    let stub = Stub::start([Answer::status(500)]).await;
    let config = source("github") + "[destinations.nobody]\n" + &nobody + &out(&stub);
    let slow = "backoff = \"1h\"\nbackoff_max = \"1h\"\n";
    let config = config + &route("github", "nobody") + slow + &route("github", "out") + slow;
    let server = world.serve(&config).await;
    let delivery = send(&server, push("one", 1)).await;
    let jobs = until("both to wait", async || {
        let jobs = server.delivery(&delivery).await["jobs"].as_array().unwrap().clone();
        let waits = |job: &Value| job["state"] == "retrying" && job["attempt_count"] != 0;
        let count = |at: usize| jobs[at]["attempts"].as_array().unwrap().len();
        (jobs.iter().all(waits) && count(0) == 2 && count(1) == 1).then_some(jobs.clone())
    })
    .await;
    assert_eq!(outcomes(&jobs[0]), ["unreached", "unreached"]);
    assert_eq!(outcomes(&jobs[1]), ["failed"]);
});

both!(a_route_reads_statuses_in_its_own_way, |world| async {
    let stub = Stub::ok().await;
    stub.when("missing", [Answer::status(404), Answer::ok()]);
    stub.when("busy", [Answer::status(503)]);
    let keys = "retry_on = [404]\ndead_on = [\"500-504\"]\n";
    let server = world.serve(&(straight("github", &stub) + SOON + keys)).await;
    let missing = send(&server, push("missing", 1)).await;
    let busy = send(&server, push("busy", 2)).await;
    let job = until_state(&server, &missing, "succeeded").await;
    assert_eq!(outcomes(&job), ["refused", "accepted"]);
    let job = until_state(&server, &busy, "dead").await;
    assert_eq!((outcomes(&job), &job["fault"]), (vec!["failed"], &json!("refused")));
});

both!(a_200_with_an_error_in_its_body_is_no_success, |world| async {
    let stub = Stub::start([
        Answer::ok().body(r#"{"ok": false, "error": "channel_not_found"}"#),
        Answer::ok().body("<html>"),
        Answer::ok().body(r#"{"ok": true}"#),
    ])
    .await;
    let config = source("github") + &out(&stub) + "accept = { json = \"/ok\", equals = true }\n";
    let server = world.serve(&(config + &route("github", "out") + SOON)).await;
    let delivery = send(&server, push("one", 1)).await;
    let job = until_state(&server, &delivery, "succeeded").await;
    assert_eq!(outcomes(&job), ["failed", "failed", "accepted"]);
    let details = job["attempts"].as_array().unwrap().iter();
    let details: Vec<_> = details.map(|attempt| attempt["detail"].as_str().unwrap()).collect();
    assert_eq!(details[0], "200 OK, but /ok is false; expected true");
    assert_eq!(details[1], "200 OK, but its body is not JSON; expected true");
    assert_eq!(job["attempts"][0]["status"], 200);
});

both!(a_dead_letter_says_whose_fault_it_was, |world| async {
    let port = wire::free_port();
    let stub = Stub::start([Answer::status(422)]).await;
    let config = source("github")
        + &out(&stub)
        + &format!("[destinations.nobody]\ntype = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n")
        + "allow_private = true\n"
        + "[destinations.broken]\ntype = \"command\"\nargv = [\"/bin/false\"]\n"
        + "[destinations.missing]\ntype = \"command\"\nargv = [\"/no/such/program\"]\n";
    let names = ["out", "nobody", "broken", "missing"];
    let routes = names.map(|name| route("github", name) + SOON + "max_attempts = 2\n");
    let server = world.serve(&(config + &routes.concat())).await;
    send(&server, push("one", 1)).await;
    server.settled().await;
    for (name, fault) in names.iter().zip(["refused", "unreachable", "handler", "posthouse"]) {
        let listed = server.cli(["jobs", "list", "--fault", fault, "--output", "json"]).run().await;
        let listed: Value = serde_json::from_str(&listed.output).unwrap();
        let items = listed["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["route"]), (1, &json!(format!("github-{name}"))));
        let shown = server.cli(["jobs", "show", id(&items[0])]).run().await.output;
        assert!(shown.contains("fault of"), "{shown}");
    }
    let wrong = server.cli(["jobs", "list", "--fault", "nobody"]).run().await;
    assert_eq!(wrong.code, Some(2));
});

both!(a_program_may_not_run_twice_unless_it_says_so, |world| async {
    let log = world.path().join("log").display().to_string();
    let script = format!("echo ran >> {log}; sleep 300");
    let command = format!("type = \"command\"\nargv = [\"/bin/sh\", \"-c\", {script:?}]\n");
    let config = source("github") + "[destinations.run]\n" + &command + "timeout = \"300ms\"\n";
    let config = config + &route("github", "run") + SOON + "max_attempts = 3\n";
    let server = world.serve(&config).await;
    let delivery = send(&server, push("one", 1)).await;
    let job = until_state(&server, &delivery, "uncertain").await;
    assert_eq!((outcomes(&job), &job["fault"]), (vec!["uncertain"], &json!("handler")));
    drop(server);
    let config = config.replace("timeout = \"300ms\"", "idempotent = true\ntimeout = \"300ms\"");
    let server = world.serve(&config).await;
    let ran = server.cli(["jobs", "resolve", id(&job), "--retry"]).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let job = until_state(&server, &delivery, "dead").await;
    assert_eq!(job["attempt_count"], 4, "one, and three more");
    tokio::time::timeout(Duration::from_secs(5), async {
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().count(), 4);
    })
    .await
    .unwrap();
});

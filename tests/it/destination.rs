//! HTTP destinations: what is sent to them, and what becomes of each of their answers.

use crate::harness::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Sends a delivery, waits until all jobs are settled, and returns its jobs with their attempts.
async fn delivered(server: &Server, request: Request) -> Vec<Value> {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.settled().await;
    let id = answer.json()["delivery"].as_str().unwrap().to_owned();
    server.delivery(&id).await["jobs"].as_array().unwrap().clone()
}

/// The outcomes of the attempts of a job.
fn outcomes(job: &Value) -> Vec<&str> {
    let attempts = job["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}

/// The text in which the last attempt of a job says what was wrong.
fn detail(job: &Value) -> &str {
    job["attempts"].as_array().unwrap().last().unwrap()["detail"].as_str().unwrap()
}

both!(every_status_has_its_consequence, |world| async {
    let stub = Stub::ok().await;
    let accepted = [200, 201, 202, 204, 206];
    let retried = [408, 425, 429, 500, 502, 503, 504, 507, 599];
    let refused = [300, 304, 305, 400, 401, 402, 403, 404, 405, 409, 411, 413, 415, 418, 422, 451];
    let all = [accepted.as_slice(), &retried, &refused].concat();
    let body_of = |status| if [204, 304].contains(&status) { "" } else { "because" };
    for status in &all {
        let answer = Answer::status(*status).body(body_of(*status));
        stub.when(&format!("\"n\":{status},"), [answer]);
    }
    let config = straight("github", &stub) + SOON + "max_attempts = 2\n";
    let server = world.serve(&config).await;
    for status in &all {
        let push = push(&format!("branch{status}"), (*status).into());
        assert_eq!(server.post("github", push).await.status, 200);
    }
    let jobs = server.settled().await;
    for status in all {
        let key = format!("branch{status}-{status}");
        let job = jobs.iter().find(|job| job["key"] == *key).unwrap();
        let (state, outcome, attempts) = match status {
            _ if accepted.contains(&status) => ("succeeded", "accepted", 1),
            _ if retried.contains(&status) => ("dead", "failed", 2),
            _ => ("dead", "refused", 1),
        };
        assert_eq!(
            (&job["state"], &job["attempt_count"]),
            (&json!(state), &json!(attempts)),
            "{key}"
        );
        let shown = server.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        assert_eq!(outcomes(&shown), vec![outcome; attempts], "{key}");
        assert_eq!(shown["attempts"][0]["status"], status);
        assert_eq!(shown["attempts"][0]["answer"], body_of(status), "{key}");
    }
});

both!(a_redirect_is_reported_and_not_followed, |world| async {
    let (stub, login) = (Stub::ok().await, Stub::start([Answer::ok().body("<html>")]).await);
    let server = world.serve(&(straight("github", &stub) + SOON)).await;
    let target = login.url().replace("/in", "/login?next=secret");
    for status in [301, 302, 303, 307, 308] {
        let answer = Answer::status(status).header("Location", &target);
        stub.when(&format!("\"n\":{status},"), [answer]);
        let jobs = delivered(&server, push("one", status.into())).await;
        assert_eq!((&jobs[0]["state"], outcomes(&jobs[0])), (&json!("dead"), vec!["refused"]));
        let expected = format!("redirect {status} to {}", login.url().replace("/in", "/login"));
        assert_eq!(detail(&jobs[0]), expected, "without its query");
    }
    assert_eq!((stub.calls(), login.calls()), (5, 0));
});

both!(gone_pauses_the_route_until_an_operator_resumes_it, |world| async {
    let (stub, other) = (Stub::start([Answer::status(410), Answer::ok()]).await, Stub::ok().await);
    let config = straight("github", &stub) + &destination("other", &other);
    let server = world.serve(&(config + &route("github", "other"))).await;
    let jobs = delivered(&server, push("one", 1)).await;
    assert_eq!((&jobs[0]["state"], outcomes(&jobs[0])), (&json!("dead"), vec!["gone"]));
    assert!(jobs[0]["reason"].as_str().unwrap().contains("410"), "{jobs:?}");
    server.said("route paused").await;
    assert_eq!(server.metric("posthouse_paused_routes").await, 1.0);

    // What comes now waits for this route, and is delivered on the other.
    let answer = server.post("github", push("two", 2)).await.json();
    let id = answer["delivery"].as_str().unwrap();
    assert_eq!(keys_of(&other.until(2).await), ["one-1", "two-2"]);
    let shown = server.delivery(id).await["jobs"][0].clone();
    assert_eq!((&shown["state"], &shown["route"]), (&json!("ready"), &json!("github-out")));
    assert!(shown["paused"]["reason"].as_str().unwrap().contains("410"), "{shown}");
    assert_eq!(stub.calls(), 1);
    let listed = server.cli(["routes", "list"]).run().await;
    assert!(listed.output.contains("github-out") && listed.output.contains("410"), "{listed:?}");

    let resumed = server.cli(["resume", "route", "github-out"]).run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.errors);
    assert_eq!(keys_of(&stub.until(2).await), ["one-1", "two-2"]);
    let jobs = server.settled().await;
    let dead = jobs.iter().find(|job| job["state"] == "dead").unwrap();
    assert_eq!((jobs.len(), &dead["key"]), (4, &json!("one-1")), "nothing is deleted");
    let ran = server.cli(["jobs", "retry", dead["id"].as_str().unwrap()]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    assert_eq!(keys_of(&stub.until(3).await), ["one-1", "two-2", "one-1"]);
});

both!(retry_after_is_heeded_in_seconds_and_in_all_forms_of_a_date, |world| async {
    let stub = Stub::ok().await;
    let now = jiff::Timestamp::now();
    let date = now + jiff::SignedDuration::from_secs(3);
    let zoned = date.to_zoned(jiff::tz::TimeZone::UTC);
    let imf = zoned.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let rfc_850 = zoned.strftime("%A, %d-%b-%y %H:%M:%S GMT").to_string();
    let asctime = zoned.strftime("%a %b %e %H:%M:%S %Y").to_string();
    let values = [("imf", imf), ("rfc850", rfc_850), ("asctime", asctime), ("seconds", "2".into())];
    for (branch, value) in &values {
        let status = if *branch == "seconds" { 503 } else { 429 };
        let wait = Answer::status(status).header("Retry-After", value);
        stub.when(&format!("heads/{branch}"), [wait, Answer::ok()]);
    }
    // Own waits are far shorter, and the bound of all waits is longer.
    let config = straight("github", &stub) + "backoff = \"1ms\"\nbackoff_max = \"1m\"\n";
    let server = world.serve(&config).await;
    for (branch, _) in &values {
        assert_eq!(server.post("github", push(branch, 1)).await.status, 200);
    }
    let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    for job in server.settled().await {
        let shown = server.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        assert_eq!(outcomes(&shown), ["failed", "accepted"], "{shown}");
        let [first, second] = [0, 1].map(|index| shown["attempts"][index].clone());
        let not_before = match job["key"].as_str() {
            Some("seconds-1") => time(&first["ended_at"]) + jiff::SignedDuration::from_secs(2),
            // A date has whole seconds.
            _ => jiff::Timestamp::from_second(date.as_second()).unwrap(),
        };
        let started = time(&second["started_at"]);
        assert!(started >= not_before, "{} {started} {not_before}", job["key"]);
    }
});

both!(retry_after_is_bounded, |world| async {
    let wait = Answer::status(429).header("Retry-After", "86400");
    let stub = Stub::start([wait, Answer::ok()]).await;
    let server = world.serve(&(straight("github", &stub) + SOON)).await;
    let jobs = delivered(&server, push("one", 1)).await;
    assert_eq!(outcomes(&jobs[0]), ["failed", "accepted"]);
});

both!(an_answer_that_comes_too_late_is_unknown_and_the_repeat_can_be_recognised, |world| async {
    let late = Answer::ok().after(Duration::from_secs(2));
    let stub = Stub::start([late, Answer::ok()]).await;
    let config = source("github") + &out(&stub) + "timeout = \"300ms\"\n";
    let server = world.serve(&(config + &route("github", "out") + SOON)).await;
    let jobs = delivered(&server, push("one", 1)).await;
    assert_eq!(outcomes(&jobs[0]), ["uncertain", "accepted"]);
    assert_eq!(jobs[0]["attempts"][0]["detail"], "timeout after 300 ms, outcome unknown");
    let calls = stub.received();
    assert_eq!(calls.len(), 2);
    for name in ["idempotency-key", "webhook-id", "posthouse-delivery", "posthouse-sequence"] {
        assert!(calls[0].header(name).is_some(), "{name}");
        assert_eq!(calls[0].header(name), calls[1].header(name), "{name}");
    }
    assert_eq!([0, 1].map(|call| number(&calls[call], "posthouse-attempt")), [1, 2]);
    assert_eq!(calls[0].body, calls[1].body);
});

both!(a_connection_that_breaks_is_one_request_an_attempt, |world| async {
    let answers = [Answer::reset(), Answer::close(), Answer::ok(), Answer::reset(), Answer::ok()];
    let stub = Stub::start(answers).await;
    let server = world.serve(&(straight("github", &stub) + SOON)).await;
    // The second delivery begins on the connection that the first one left open.
    for (n, expected) in
        [(1, vec!["uncertain", "uncertain", "accepted"]), (2, vec!["uncertain", "accepted"])]
    {
        let jobs = delivered(&server, push("one", n)).await;
        assert_eq!(outcomes(&jobs[0]), expected);
        assert!(detail(&jobs[0]).starts_with("200"), "{jobs:?}");
        let first = jobs[0]["attempts"][0]["detail"].as_str().unwrap();
        assert!(first.contains("before an answer, outcome unknown"), "{first}");
    }
    assert_eq!(stub.calls(), 5, "no request was sent again behind our back");
    let calls = stub.received();
    let numbers = calls.iter().map(|call| number(call, "posthouse-attempt"));
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 1, 2]);
});

both!(nobody_at_the_other_end_is_a_failure_and_not_an_unknown_outcome, |world| async {
    let port = wire::free_port();
    let config = source("github")
        + &format!("[destinations.out]\ntype = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n")
        + "allow_private = true\n"
        + &route("github", "out");
    let server = world.serve(&(config + SOON + "max_attempts = 3\n")).await;
    let jobs = delivered(&server, push("one", 1)).await;
    assert_eq!((&jobs[0]["state"], outcomes(&jobs[0])), (&json!("dead"), vec!["unreached"; 3]));
    assert!(detail(&jobs[0]).starts_with("connection refused"), "{jobs:?}");
});

both!(what_is_too_large_for_a_destination_dies_at_once_and_the_next_one_goes, |world| async {
    let stub = Stub::ok().await;
    let config = source("github") + &out(&stub) + "body_max = \"2KiB\"\n";
    let launch = world.posthouse(&(config.clone() + &route("github", "out")));
    let checked = launch.clone().args(["check"]).run().await;
    let told = format!("{}{}", checked.output, checked.errors);
    assert!(told.contains("destinations.out.body_max: the source github takes bodies"), "{told}");
    let server = launch.serve().await;
    let large = github("large-1", format!("{{\"text\":\"{}\"}}", "x".repeat(3000)));
    let jobs = delivered(&server, large).await;
    assert_eq!((&jobs[0]["state"], outcomes(&jobs[0])), (&json!("dead"), vec!["refused"]));
    assert!(detail(&jobs[0]).starts_with("too large for the destination: 30"), "{jobs:?}");
    let jobs = delivered(&server, push("one", 1)).await;
    assert_eq!((&jobs[0]["state"], stub.calls()), (&json!("succeeded"), 1));
});

both!(little_is_kept_of_a_long_answer, |world| async {
    let stub = Stub::start([Answer::status(400).body("x".repeat(1 << 20))]).await;
    let server = world.serve(&straight("github", &stub)).await;
    let jobs = delivered(&server, push("one", 1)).await;
    let answer = jobs[0]["attempts"][0]["answer"].as_str().unwrap();
    assert_eq!((answer.len(), answer.trim_matches('x')), (4096, ""));
    // NULs and line ends of a destination do no harm, to PostgreSQL in particular.
    let odd = Answer::status(422).body(b"a\0b\r\nALARM: forged\xff".as_slice());
    stub.when("\"n\":2,", [odd]);
    let jobs = delivered(&server, push("two", 2)).await;
    let answer = jobs[0]["attempts"][0]["answer"].as_str().unwrap();
    assert_eq!(answer, "a\0b\r\nALARM: forged\u{fffd}");
});

both!(a_delivery_goes_to_every_route_whose_filter_it_passes, |world| async {
    let names = ["all", "pushes", "pulls", "both", "none"];
    let mut stubs = BTreeMap::new();
    for name in names {
        stubs.insert(name, Stub::ok().await);
    }
    let mut config = source("github");
    for (name, stub) in &stubs {
        config = config + &destination(name, stub);
    }
    for name in names {
        config = config
            + &route("github", name)
            + match name {
                "all" => "",
                "pushes" => "events = [\"push\"]\n",
                "pulls" => "events = [\"pull_request.*\"]\n",
                "both" => "events = [\"pull_request.closed\", \"push\"]\n",
                _ => "events = [\"release.*\"]\n",
            };
    }
    let server = world.serve(&config).await;
    assert_eq!(delivered(&server, push("one", 1)).await.len(), 3);
    for action in ["opened", "closed"] {
        let body = format!(r#"{{"action":"{action}","pull_request":{{"number":4}}}}"#);
        let request = github_by(GITHUB, action, "pull_request", body);
        delivered(&server, request).await;
    }
    let sent = |name: &str| keys_of(&stubs[name].received());
    assert_eq!(sent("all"), ["one-1", "opened", "closed"]);
    assert_eq!(sent("pushes"), ["one-1"]);
    assert_eq!(sent("pulls"), ["opened", "closed"]);
    assert_eq!(sent("both"), ["one-1", "closed"]);
    assert_eq!(sent("none"), [""; 0]);
    // One delivery, and for each route a key of its own to recognise a repeat by.
    let [all, pushes] = ["all", "pushes"].map(|name| stubs[name].received()[0].clone());
    assert_eq!(all.header("webhook-id"), pushes.header("webhook-id"));
    assert_eq!(all.header("idempotency-key").as_deref(), Some("github:one-1:github-all"));
    assert_eq!(pushes.header("idempotency-key").as_deref(), Some("github:one-1:github-pushes"));
    assert_eq!(server.deliveries("").await.len(), 3);
});

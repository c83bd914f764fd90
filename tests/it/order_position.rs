//! Order by what the sender says: late events are marked or superseded, equal ones are not late,
//! and a hold brings the others into their order.

use crate::harness::*;
use serde_json::{Value, json};

/// What a subscription went through, as Stripe tells it. Times are seconds.
fn subscription(key: &str, what: &str, created: i64) -> Request {
    let object = json!({ "id": "sub_1", "object": "subscription", "status": what });
    let kind = format!("customer.subscription.{what}");
    let event = json!({ "id": key, "object": "event", "type": kind, "created": created,
        "pending_webhooks": 1, "data": { "object": object } });
    stripe(event.to_string())
}

/// What a pull request went through, as GitHub tells it.
fn pull_request(key: &str, action: &str, updated_at: &str) -> Request {
    let pull = json!({ "number": 41, "title": key, "updated_at": updated_at });
    let body = json!({ "action": action, "number": 41, "pull_request": pull,
        "repository": { "id": 7, "full_name": "cedar/lantern" } });
    github_by(GITHUB, key, "pull_request", body.to_string())
}

/// A source that goes to a stub, in this order.
fn ordered(provider: &str, stub: &Stub, order: &str) -> String {
    straight(provider, stub) + &format!("order = {order:?}\n")
}

/// A source that goes to two stubs, each in an order of its own.
fn two(provider: &str, one: (&str, &Stub), other: (&str, &Stub)) -> String {
    let towards = |(order, stub): (&str, &Stub)| {
        destination(order, stub) + &route(provider, order) + &format!("order = {order:?}\n")
    };
    source(provider) + &towards(one) + &towards(other)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

const NOON: &str = "2026-03-01T12:00:00Z";

/// Sends deliveries, each once the one before is settled.
async fn one_by_one(server: &Server, source: &str, requests: Vec<Request>) -> Vec<Value> {
    for request in requests {
        assert_eq!(server.post(source, request).await.status, 200);
        server.settled().await;
    }
    server.settled().await
}

fn stale(received: &[Received]) -> Vec<bool> {
    received.iter().map(|one| one.header("posthouse-stale").as_deref() == Some("true")).collect()
}

fn job<'j>(jobs: &'j [Value], key: &str) -> &'j Value {
    jobs.iter().find(|job| job["key"] == key).unwrap_or_else(|| panic!("no job of {key}"))
}

both!(created_after_updated_is_sent_and_marked_stale, |world| async {
    let (occurred, arrival) = (Stub::ok().await, Stub::ok().await);
    let config = two("stripe", ("occurred", &occurred), ("arrival", &arrival));
    let server = world.serve(&config).await;
    let late = vec![subscription("evt_2", "updated", 105), subscription("evt_1", "created", 100)];
    one_by_one(&server, "stripe", late).await;
    for stub in [&occurred, &arrival] {
        let received = stub.received();
        assert_eq!(
            (keys_of(&received), stale(&received)),
            (words("evt_2 evt_1"), vec![false, true])
        );
        let occurred = received[1].header("posthouse-occurred-at").unwrap();
        assert_eq!(occurred, "1970-01-01T00:01:40Z");
        assert_eq!(received[1].header("posthouse-lane").unwrap(), "sub_1");
        let numbers: Vec<_> =
            received.iter().map(|one| number(one, "posthouse-sequence")).collect();
        assert_eq!(numbers, [1, 2]);
    }
});

both!(latest_supersedes_what_comes_too_late_and_says_by_what, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&ordered("stripe", &stub, "latest")).await;
    let late = vec![subscription("evt_2", "updated", 105), subscription("evt_1", "created", 100)];
    let jobs = one_by_one(&server, "stripe", late).await;
    let (first, second) = (job(&jobs, "evt_2"), job(&jobs, "evt_1"));
    assert_eq!((&first["state"], &second["state"]), (&json!("succeeded"), &json!("superseded")));
    assert_eq!(second["superseded_by"], first["id"]);
    assert_eq!((second["attempt_count"].as_i64(), &second["sequence"]), (Some(0), &Value::Null));
    assert_eq!(keys_of(&stub.received()), ["evt_2"]);
    assert_eq!(server.metric("posthouse_jobs{state=\"superseded\"}").await, 1.0);
    let shown = server.cli(["jobs", "show", second["id"].as_str().unwrap()]).run().await;
    let by = format!("superseded by job {}", first["id"].as_str().unwrap());
    assert!(shown.output.contains(&by), "{}", shown.output);

    // The lane goes on without a gap, and a sender that repeats itself changes nothing.
    let again = server.post("stripe", subscription("evt_1", "created", 100)).await.json();
    assert_eq!((&again["status"], &again["state"]), (&json!("duplicate"), &json!("superseded")));
    one_by_one(&server, "stripe", vec![subscription("evt_3", "paused", 106)]).await;
    assert_eq!(number(&stub.received()[1], "posthouse-sequence"), 2);

    // An operator who replays it wants it to be sent.
    let delivery = second["delivery"].as_str().unwrap();
    let ran = server.cli(["replay", delivery]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    let received = stub.until(3).await;
    assert_eq!((keys_of(&received)[2].as_str(), stale(&received)[2]), ("evt_1", true));
    server.settled().await;
});

both!(three_edits_in_one_second_are_all_sent_in_the_order_they_came, |world| async {
    let (occurred, latest) = (Stub::ok().await, Stub::ok().await);
    let config = two("github", ("occurred", &occurred), ("latest", &latest));
    let server = world.serve(&config).await;
    let edits = ["one", "two", "three"].map(|key| pull_request(key, "edited", NOON));
    one_by_one(&server, "github", edits.into()).await;
    for stub in [&occurred, &latest] {
        let received = stub.received();
        assert_eq!(keys_of(&received), ["one", "two", "three"]);
        assert_eq!(stale(&received), [false; 3], "equal is not older");
    }
});

both!(a_retry_of_an_old_event_does_not_undo_the_new_ones, |world| async {
    let (marked, kept) = (Stub::ok().await, Stub::ok().await);
    let config = two("github", ("occurred", &marked), ("latest", &kept));
    let server = world.serve(&config).await;
    let at = |second: u32| format!("2026-03-01T12:00:0{second}Z");
    // The first attempt of the sender at "one" was lost on the way; it comes again later.
    let requests = vec![
        pull_request("two", "edited", &at(2)),
        pull_request("three", "closed", &at(3)),
        pull_request("one", "opened", &at(1)),
        pull_request("four", "reopened", &at(4)),
    ];
    one_by_one(&server, "github", requests).await;
    let received = marked.received();
    assert_eq!(keys_of(&received), ["two", "three", "one", "four"]);
    assert_eq!(stale(&received), [false, false, true, false]);
    assert_eq!(keys_of(&kept.received()), ["two", "three", "four"]);
});

both!(nothing_comes_after_a_deletion_but_what_happened_after_it, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&ordered("stripe", &stub, "latest")).await;
    let requests = vec![
        subscription("evt_3", "deleted", 110),
        subscription("evt_2", "updated", 109),
        subscription("evt_4", "created", 111),
    ];
    let jobs = one_by_one(&server, "stripe", requests).await;
    assert_eq!(job(&jobs, "evt_2")["state"], "superseded");
    assert_eq!(keys_of(&stub.received()), ["evt_3", "evt_4"]);
});

both!(a_doubt_counts_as_processed_only_once_it_is_known_that_it_happened, |world| async {
    let stub = Stub::start([Answer::ok().behind(&Gate::closed()), Answer::ok()]).await;
    let out = out(&stub) + "idempotent = false\ntimeout = \"300ms\"\n";
    let config = source("stripe") + &out + &route("stripe", "out") + "order = \"latest\"\n";
    let server = world.serve(&config).await;
    let jobs = one_by_one(&server, "stripe", vec![subscription("evt_3", "updated", 103)]).await;
    assert_eq!(job(&jobs, "evt_3")["state"], "uncertain");
    // It may not have happened: what is older is still news.
    let jobs = one_by_one(&server, "stripe", vec![subscription("evt_2", "updated", 102)]).await;
    assert_eq!(job(&jobs, "evt_2")["state"], "succeeded");
    let id = job(&jobs, "evt_3")["id"].as_str().unwrap().to_owned();
    assert_eq!(server.cli(["jobs", "resolve", &id, "--succeeded"]).run().await.code, Some(0));
    let late = vec![subscription("evt_1", "created", 101), subscription("evt_25", "paused", 102)];
    let jobs = one_by_one(&server, "stripe", late).await;
    assert_eq!(job(&jobs, "evt_25")["state"], "superseded");
    assert_eq!(job(&jobs, "evt_25")["superseded_by"], id.as_str());
});

both!(a_hold_brings_deliveries_into_the_order_in_which_things_happened, |world| async {
    let stub = Stub::ok().await;
    let config = ordered("stripe", &stub, "occurred") + "hold = \"1s\"\n";
    let mut server = world.serve(&config).await;
    let begun = std::time::Instant::now();
    for (key, created) in [("evt_3", 103), ("evt_1", 101), ("evt_4", 104), ("evt_2", 102)] {
        let answer = server.post("stripe", subscription(key, "updated", created)).await;
        assert_eq!(answer.status, 200);
    }
    // What is held is on disk.
    server.restart().await;
    let received = stub.until(4).await;
    assert!(received[0].begun.duration_since(begun).as_millis() >= 1000, "the hold was not kept");
    assert_eq!(keys_of(&received), ["evt_1", "evt_2", "evt_3", "evt_4"]);
    assert_eq!(stale(&received), [false; 4]);
    let numbers: Vec<_> = received.iter().map(|one| number(one, "posthouse-sequence")).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "numbers are given when a job is processed");
    server.settled().await;
});

both!(a_hold_ends_in_time_in_another_process_too, |world| async {
    let stub = Stub::ok().await;
    // On PostgreSQL the worker hears of the time; it does not look again for a minute.
    let poll = match world.engine {
        Engine::Postgres => "[workers]\npoll = \"1m\"\n",
        Engine::Sqlite => "[workers]\npoll = \"20ms\"\n",
    };
    let config = poll.to_owned() + &ordered("stripe", &stub, "occurred") + "hold = \"1s\"\n";
    let start = |role| world.posthouse(&config).args(["serve", "--role", role]).within(role);
    let (receiver, _worker) = (start("receiver").serve().await, start("worker").serve().await);
    let begun = std::time::Instant::now();
    for (key, created) in [("evt_2", 102), ("evt_1", 101)] {
        let answer = receiver.post("stripe", subscription(key, "updated", created)).await;
        assert_eq!(answer.status, 200);
    }
    let received = stub.until(2).await;
    let waited = received[0].begun.duration_since(begun);
    assert!((1..20).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(keys_of(&received), ["evt_1", "evt_2"]);
    receiver.settled().await;
});

both!(order_by_says_what_the_lanes_are_about, |world| async {
    let stub = Stub::start([Answer::ok().after(std::time::Duration::from_millis(20))]).await;
    let config = straight("github", &stub) + "order_by = \"repo-{/repository/id}\"\n";
    let server = world.serve(&config).await;
    for n in 0..6 {
        let branch = format!("branch{n}");
        assert_eq!(server.post("github", push(&branch, n)).await.status, 200);
    }
    let without = server.post("github", github("nothing", r#"{"repository":{}}"#)).await;
    assert_eq!(without.status, 200);
    let jobs = server.settled().await;
    assert_eq!(job(&jobs, "branch3-3")["entity"], "repo-7");
    let received = stub.received();
    let (laned, free): (Vec<_>, Vec<_>) =
        received.into_iter().partition(|one| one.header("posthouse-lane").is_some());
    assert_eq!(keys_of(&free), ["nothing"]);
    let lanes = by_lane(&laned);
    let expected: Vec<String> = (0..6).map(|n| format!("branch{n}-{n}")).collect();
    assert_eq!(keys_of(&lanes["repo-7"]), expected);
    // A replay enters the same lane.
    let replayed = server.cli(["replay", job(&jobs, "branch3-3")["delivery"].as_str().unwrap()]);
    assert_eq!(replayed.run().await.code, Some(0));
    let again = stub.until(8).await;
    assert_eq!(again[7].header("posthouse-lane").as_deref(), Some("repo-7"));
    server.settled().await;
});

both!(what_retention_forgets_does_not_make_a_stale_event_look_new, |world| async {
    let stub = Stub::ok().await;
    let retention = "[retention]\nbodies = \"1d\"\nattempts = \"1d\"\nkeys = \"2d\"\n";
    let keep = "keep_keys = \"10d\"\n[destinations";
    let config = ordered("stripe", &stub, "occurred").replace("[destinations", keep);
    let server = world.serve(&(retention.to_owned() + &config)).await;
    let age = async |days: i64| {
        let us = days * 86_400_000_000;
        let deliveries = format!("UPDATE deliveries SET received_us = received_us - {us};");
        let lanes = format!("UPDATE lanes SET touched_us = touched_us - {us};");
        world.database.run(&format!("{deliveries}{lanes}")).await;
    };
    one_by_one(&server, "stripe", vec![subscription("evt_2", "updated", 105)]).await;
    age(5).await;
    let pruned = server.command("/api/prune", json!({})).await;
    assert_eq!((&pruned["pruned"]["bodies"], &pruned["pruned"]["lanes"]), (&json!(1), &json!(0)));
    one_by_one(&server, "stripe", vec![subscription("evt_1", "created", 100)]).await;
    assert_eq!(stale(&stub.received()), [false, true]);
    // Beyond the contract everything is forgotten, the watermark too.
    age(11).await;
    let pruned = server.command("/api/prune", json!({})).await;
    assert_eq!(pruned["pruned"]["deliveries"], 2);
    let lanes = server.command("/api/prune", json!({})).await["pruned"]["lanes"].clone();
    let left = world.database.number("SELECT count(*) FROM lanes").await;
    assert_eq!(left, 0, "{lanes}");
});

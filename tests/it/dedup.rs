//! Once per key: repeats, conflicts, keys and their scope, and what must never take a key.

use crate::harness::*;
use serde_json::json;

/// The status of an answer and the word for what became of the request.
fn verdict(answer: &Response) -> (u16, String) {
    let word = match answer.body.is_empty() {
        true => String::new(),
        false => answer.json()["status"].as_str().unwrap_or_default().to_owned(),
    };
    (answer.status, word)
}

/// Demands one `accepted` among answers that are duplicates of it.
fn one_accepted(answers: &[Response]) {
    let first = answers[0].json()["delivery"].clone();
    for answer in answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["delivery"], first);
    }
    let accepted = answers.iter().filter(|answer| answer.json()["status"] == "accepted").count();
    let repeats = answers.iter().filter(|answer| answer.json()["status"] == "duplicate").count();
    assert_eq!((accepted, repeats), (1, answers.len() - 1));
}

const RACE: &str = r#"{"ref":"refs/heads/race","after":"c0ffee"}"#;

both!(fifty_identical_requests_at_once_are_one_delivery, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let request = github("7d3c0096", RACE).to("/hooks/github");
    one_accepted(&at_once(vec![(server.public(), request); 50]).await);
    assert_eq!(server.settled().await.len(), 1);
    assert_eq!(stub.calls(), 1);
    assert_eq!(server.only_delivery().await["repeats"], 49);
    assert_eq!(server.metric(r#"posthouse_accepted_total{source="github"}"#).await, 1.0);
    assert_eq!(server.metric(r#"posthouse_duplicate_total{source="github"}"#).await, 49.0);
});

#[test]
fn fifty_identical_requests_at_two_servers_on_one_postgres_are_one_delivery() {
    run(Engine::Postgres, async |world| {
        let stub = Stub::ok().await;
        let config = straight("github", &stub);
        let one = world.posthouse(&config).within("one").serve().await;
        let two = world.posthouse(&config).within("two").serve().await;
        for round in 0..5 {
            let request = github(&format!("7d3c0196-{round}"), RACE).to("/hooks/github");
            let to = [one.public(), two.public()];
            let requests = (0..50).map(|index| (to[index % 2], request.clone())).collect();
            one_accepted(&at_once(requests).await);
        }
        assert_eq!(one.settled().await.len(), 5);
        assert_eq!((stub.calls(), two.deliveries("").await.len()), (5, 5));
    });
}

both!(other_content_under_the_same_key_is_a_conflict_and_the_first_stands, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let first = r#"{"n":1,"attempt":1}"#;
    let answer = server.post("github", github("7d3c0097", first)).await;
    assert_eq!(verdict(&answer), (200, "accepted".into()));
    let other = server.post("github", github("7d3c0097", r#"{"n":1,"attempt":2}"#)).await;
    assert_eq!(verdict(&other), (409, "conflict".into()));
    assert_eq!(other.json()["delivery"], answer.json()["delivery"]);
    server.settled().await;
    assert_eq!((stub.calls(), stub.received()[0].body.as_slice()), (1, first.as_bytes()));
    let delivery = server.only_delivery().await;
    assert_eq!((&delivery["repeats"], &delivery["conflicts"]), (&json!(0), &json!(1)));
    assert_eq!(delivery["fingerprint"], digest(first.as_bytes()));
    assert_eq!(server.metric(r#"posthouse_conflict_total{source="github"}"#).await, 1.0);
});

both!(the_same_content_written_otherwise_is_a_duplicate, |world| async {
    let server = world.serve(&logged("github")).await;
    let forms = [r#"{"a":1,"b":[1.0,"\u00fc"]}"#, "{ \"b\" : [1.0, \"\u{fc}\"],\n \"a\" : 1 }"];
    for (form, word) in forms.iter().zip(["accepted", "duplicate"]) {
        let answer = server.post("github", github("7d3c0197", *form)).await;
        assert_eq!(verdict(&answer), (200, word.into()), "{form}");
    }
    for other in [r#"{"a":1,"b":[1,"ü"]}"#, r#"{"a":1,"b":["ü",1.0]}"#, r#"{"a":1}"#] {
        let answer = server.post("github", github("7d3c0197", other)).await;
        assert_eq!(verdict(&answer), (409, "conflict".into()), "{other}");
    }
});

both!(equal_content_under_two_keys_is_two_deliveries, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    for key in ["7d3c0098", "7d3c0099"] {
        let answer = server.post("github", github(key, r#"{"action":"deploy"}"#)).await;
        assert_eq!(verdict(&answer), (200, "accepted".into()));
    }
    assert_eq!(server.settled().await.len(), 2);
    assert_eq!(stub.calls(), 2);
});

both!(stripes_counter_of_pending_webhooks_makes_no_other_event, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("stripe", &stub)).await;
    let event = |pending| {
        format!(r#"{{"id":"evt_pw_1","type":"invoice.paid","pending_webhooks":{pending}}}"#)
    };
    let answer = server.post("stripe", stripe_at(now(), event(2))).await;
    assert_eq!(verdict(&answer), (200, "accepted".into()));
    let answer = server.post("stripe", stripe_at(now() - 5, event(1))).await;
    assert_eq!(verdict(&answer), (200, "duplicate".into()));
    assert_eq!(server.settled().await.len(), 1);
    let answer = server.post("stripe", stripe_at(now() - 7, event(0))).await;
    assert_eq!(verdict(&answer), (200, "duplicate".into()), "after completion too");
    let other = event(0).replace("paid", "voided");
    assert_eq!(server.post("stripe", stripe(other)).await.status, 409);
    assert_eq!((stub.calls(), server.deliveries("").await.len()), (1, 1));
});

both!(a_key_belongs_to_its_source, |world| async {
    let (first, second) = (Stub::ok().await, Stub::ok().await);
    let other = named_source("f", "github").replace("GITHUB_SECRET", "OTHER_SECRET");
    let config = named_source("e", "github") + &other + &destination("one", &first);
    let config = config + &destination("two", &second) + &route("e", "one") + &route("f", "two");
    let server = world.serve(&config).await;
    let send = async |source: &str, secret| {
        let request = github_by(secret, "7d3c009a", "push", r#"{"n":1}"#);
        verdict(&server.post(source, request).await)
    };
    assert_eq!(send("e", GITHUB).await, (200, "accepted".into()));
    assert_eq!(send("f", OTHER).await, (200, "accepted".into()));
    assert_eq!(send("e", GITHUB).await, (200, "duplicate".into()));
    assert_eq!(server.settled().await.len(), 2);
    assert_eq!((first.calls(), second.calls()), (1, 1));
});

/// A home-made sender whose key is where `key` says.
fn home_made(key: &str, stub: &Stub) -> String {
    let source = "[sources.home]\nprovider = \"generic_hmac\"\nsecrets = [\"env:GITHUB_SECRET\"]\n";
    let scheme = format!("[sources.home.scheme]\nheader = \"X-Signature\"\nevent.key = {key:?}\n");
    source.to_owned() + &scheme + &out(stub) + &route("home", "out")
}

both!(without_an_id_a_request_is_refused_and_never_merged, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&home_made("header:X-Request-Id", &stub)).await;
    let signature = "9fd07fa28face55b6b82c5012a65a1aa2c2ee72a24524e0ff8d0d49bbabffb06";
    let request = Request::post(r#"{"press":1}"#).header("X-Signature", signature);
    let to_home = |request: &Request| (server.public(), request.clone().to("/hooks/home"));
    for answer in at_once(vec![to_home(&request); 20]).await {
        assert_eq!(answer.status, 400);
    }
    assert_eq!(server.deliveries("").await.len(), 0);
    let named = |n: i32| to_home(&request.clone().header("X-Request-Id", format!("press-{n}")));
    for answer in at_once((0..20).map(named).collect()).await {
        assert_eq!(verdict(&answer), (200, "accepted".into()));
    }
    stub.until(20).await;
    drop(server);
    // GitHub always sends its id; what comes without is not from GitHub.
    let server = world.serve(&logged("github")).await;
    let nameless = github("", "{}").without("X-GitHub-Delivery");
    assert_eq!(server.post("github", nameless.clone()).await.status, 400);
    let empty = nameless.header("X-GitHub-Delivery", "");
    assert_eq!(server.post("github", empty).await.status, 400);
    let twice = github("1", "{}").header("X-GitHub-Delivery", "2");
    assert_eq!(server.post("github", twice).await.status, 400);
});

both!(where_the_digest_is_the_key_equal_bodies_are_one_delivery, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&home_made("digest", &stub)).await;
    for (body, word) in [("a", "accepted"), ("b", "accepted"), ("a", "duplicate")] {
        let signature = sha256_hex(GITHUB, &[body.as_bytes()]);
        let request = Request::post(body).header("X-Signature", signature);
        assert_eq!(verdict(&server.post("home", request).await), (200, word.into()), "{body}");
    }
});

both!(gitlabs_key_is_the_id_that_its_retries_share, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("gitlab", &stub)).await;
    let send = async |key, n: i32| {
        let body = format!(r#"{{"object_kind":"push","n":{n}}}"#);
        verdict(&server.post("gitlab", gitlab(GITLAB, key, body)).await)
    };
    assert_eq!(send("7d3c009b", 1).await, (200, "accepted".into()));
    assert_eq!(send("7d3c009c", 2).await, (200, "accepted".into()));
    assert_eq!(send("7d3c009b", 1).await, (200, "duplicate".into()));
    assert_eq!(server.settled().await.len(), 2);
    assert_eq!(stub.calls(), 2);
});

both!(keys_that_differ_only_in_case_differ, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("stripe", &stub)).await;
    let ids = ["evt_1AbCdEfG", "evt_1aBcDeFg"];
    for id in ids {
        let answer =
            server.post("stripe", stripe(format!("{{\"id\":{id:?},\"type\":\"t\"}}"))).await;
        assert_eq!(verdict(&answer), (200, "accepted".into()));
    }
    assert_eq!(server.settled().await.len(), 2);
    for id in ids {
        let found = server.deliveries(&format!("?key={id}")).await;
        assert_eq!((found.len(), &found[0]["key"]), (1, &json!(id)));
    }
    assert_eq!(server.deliveries("?key=evt_1abcdefg").await.len(), 0);
});

both!(long_keys_with_a_common_beginning_are_kept_whole, |world| async {
    let server = world.serve(&logged("standard_webhooks")).await;
    for (index, last) in ["A", "B"].iter().enumerate() {
        let id = "m".repeat(299) + last;
        let answer =
            server.post("standard_webhooks", standard(&id, format!("{{\"n\":{index}}}"))).await;
        assert_eq!(verdict(&answer), (200, "accepted".into()));
        assert_eq!(server.deliveries(&format!("?key={id}")).await.len(), 1);
    }
    let endless = standard(&"k".repeat(6000), r#"{"n":3}"#);
    assert_eq!(server.post("standard_webhooks", endless).await.status, 400);
    assert_eq!(server.deliveries("").await.len(), 2);
});

both!(what_was_not_stored_leaves_no_key_behind, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let request = github("7d3c00a0", r#"{"n":1}"#);
    world.database.run("ALTER TABLE jobs RENAME TO jobs_away").await;
    let answer = server.post("github", request.clone()).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    assert_eq!(world.database.number("SELECT count(*) FROM deliveries").await, 0);
    world.database.run("ALTER TABLE jobs_away RENAME TO jobs").await;
    let answer = server.post("github", request).await;
    assert_eq!(verdict(&answer), (200, "accepted".into()));
    stub.until(1).await;
    assert_eq!(server.settled().await.len(), 1);
});

both!(a_forgery_takes_no_key, |world| async {
    let server = world.serve(&logged("github")).await;
    let forged = github_by("guessed", "7d3c00a1", "push", r#"{"n":0}"#);
    assert_eq!(server.post("github", forged).await.status, 401);
    let answer = server.post("github", github("7d3c00a1", r#"{"n":1}"#)).await;
    assert_eq!(verdict(&answer), (200, "accepted".into()));
});

both!(a_redelivery_of_what_had_died_runs_again, |world| async {
    let stub = Stub::start([Answer::status(400), Answer::ok()]).await;
    let server = world.serve(&straight("github", &stub)).await;
    let request = github("7d3c00a2", r#"{"n":1}"#);
    assert_eq!(verdict(&server.post("github", request.clone()).await), (200, "accepted".into()));
    let jobs = server.settled().await;
    assert_eq!(jobs[0]["state"], "dead", "{jobs:#?}");
    let answer = server.post("github", request.clone()).await;
    assert_eq!(verdict(&answer), (200, "revived".into()));
    stub.until(2).await;
    let jobs = server.settled().await;
    assert_eq!((jobs.len(), &jobs[0]["state"]), (1, &json!("succeeded")), "{jobs:#?}");
    assert_eq!(verdict(&server.post("github", request).await), (200, "duplicate".into()));
    assert_eq!(stub.calls(), 2);
});

both!(a_revived_delivery_waits_for_the_others_of_its_lane, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::status(400), Answer::ok().behind(&gate), Answer::ok()]).await;
    let server = world.serve(&straight("github", &stub)).await;
    assert_eq!(verdict(&server.post("github", push("one", 1)).await), (200, "accepted".into()));
    server.settled().await;
    assert_eq!(server.post("github", push("one", 2)).await.json()["state"], "ready");
    stub.until(2).await;
    let answer = server.post("github", push("one", 1)).await;
    assert_eq!(verdict(&answer), (200, "revived".into()));
    assert_eq!(answer.json()["state"], "waiting", "the second one is under way");
    gate.open();
    stub.until(3).await;
    server.settled().await;
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-2", "one-1"]);
});

/// A day in microseconds.
const DAY_US: i64 = 86_400_000_000;

both!(a_key_outlives_its_body_and_ends_with_its_delivery, |world| async {
    let stub = Stub::ok().await;
    let keep = "[retention]\nbodies = \"2d\"\nattempts = \"2d\"\nkeys = \"30d\"\n";
    let config = keep.to_owned() + &straight("stripe", &stub);
    let config = config.replace("provider", "keep_keys = \"30d\"\nprovider");
    let server = world.serve(&config).await;
    let body = r#"{"id":"evt_ret_1","type":"t"}"#;
    assert_eq!(verdict(&server.post("stripe", stripe(body)).await), (200, "accepted".into()));
    server.settled().await;
    // Instead of the clock the ledger is moved: everything in it becomes older.
    let older = async |days: i64| {
        let sql = format!("UPDATE deliveries SET received_us = received_us - {}", days * DAY_US);
        world.database.run(&sql).await;
        let pruned = server.cli(["prune"]).run().await;
        assert_eq!(pruned.code, Some(0), "{pruned:?}");
    };
    older(3).await;
    let delivery = server.only_delivery().await;
    assert_eq!(delivery["body_kept"], false);
    let path = format!("/api/deliveries/{}/body", delivery["id"].as_str().unwrap());
    assert_eq!(server.ask("GET", &path, None).await.status, 410);
    let repeat = server.post("stripe", stripe(body)).await;
    assert_eq!(verdict(&repeat), (200, "duplicate".into()), "three days later");
    older(31).await;
    assert_eq!(server.deliveries("").await.len(), 0);
    assert_eq!(verdict(&server.post("stripe", stripe(body)).await), (200, "accepted".into()));
    stub.until(2).await;
});

both!(unfinished_work_is_never_forgotten, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate)]).await;
    let server = world.serve(&straight("github", &stub)).await;
    assert_eq!(server.post("github", github("7d3c00a3", "{}")).await.status, 200);
    stub.until(1).await;
    world.database.run(&format!("UPDATE deliveries SET received_us = {DAY_US}")).await;
    let dry = server.command("/api/prune", json!({ "dry_run": true })).await;
    let real = server.command("/api/prune", json!({})).await;
    assert_eq!(
        (&dry["pruned"]["deliveries"], &real["pruned"]["deliveries"]),
        (&json!(0), &json!(0))
    );
    gate.open();
    server.settled().await;
    let dry = server.command("/api/prune", json!({ "dry_run": true })).await;
    assert_eq!(dry["pruned"]["deliveries"], 1);
    assert_eq!(server.deliveries("").await.len(), 1, "a dry run forgets nothing");
    server.command("/api/prune", json!({})).await;
    assert_eq!(server.deliveries("").await.len(), 0);
});

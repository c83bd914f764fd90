//! The command line: what it prints and with which code it ends.

use crate::harness::*;
use serde_json::{Value, json};

both!(trigger_sends_one_event_fifty_times_and_one_is_accepted, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let fifty = ["trigger", "github", "push", "--repeat", "50", "--concurrency", "50"];
    let ran = server.cli(fifty).run().await;
    assert_eq!(
        (ran.code, ran.output.as_str()),
        (Some(0), "1 accepted, 49 duplicates\n"),
        "{ran:?}"
    );
    let new = ["trigger", "github", "push", "--repeat", "20", "--concurrency", "5", "--new-keys"];
    let ran = server.cli(new).run().await;
    assert_eq!((ran.code, ran.output.as_str()), (Some(0), "20 accepted\n"), "{ran:?}");
    let tampered = ["trigger", "github", "push", "--tamper"];
    let ran = server.cli(tampered).run().await;
    assert_eq!((ran.code, ran.output.as_str()), (Some(0), "1 rejected (401)\n"), "{ran:?}");
    server.settled().await;
    assert_eq!(stub.calls(), 21);
});

both!(trigger_sends_what_it_is_given_under_the_key_it_is_given, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let file = world.file("event.json", "{\"n\": 1.0}\n");
    let trigger = ["trigger", "github", "issues.opened", "--file", &file, "--key", "my-key-1"];
    let ran = server.cli(trigger).run().await;
    assert_eq!((ran.code, ran.output.as_str()), (Some(0), "1 accepted\n"), "{ran:?}");
    assert_eq!(stub.until(1).await[0].body, b"{\"n\": 1.0}\n");
    assert_eq!(server.only_delivery().await["key"], "my-key-1");
    let other = world.file("event.json", "{\"n\": 2.0}\n");
    let ran =
        server.cli(["trigger", "github", "push", "--file", &other, "--key", "my-key-1"]).run();
    let ran = ran.await;
    assert_eq!((ran.code, ran.output.as_str()), (Some(1), "1 conflict\n"), "{ran:?}");
});

both!(trigger_signs_for_every_provider, |world| async {
    let names = ["github", "stripe", "standard_webhooks", "slack", "shopify", "gitlab"];
    let config = names.map(source).concat() + "[destinations.log]\ntype = \"log\"\n";
    let routes = names.map(|name| route(name, "log")).concat();
    let server = world.serve(&(config + &routes)).await;
    for name in names {
        let ran = server.cli(["trigger", name, "some.event"]).run().await;
        assert_eq!((ran.code, ran.output.as_str()), (Some(0), "1 accepted\n"), "{name}: {ran:?}");
    }
    assert_eq!(server.deliveries("").await.len(), names.len());
});

both!(exit_codes_tell_what_went_wrong, |world| async {
    let server = world.serve(&logged("github")).await;
    let code = async |arguments: &[&str]| {
        let ran = server.cli([]).arguments(arguments).run().await;
        assert!(ran.code == Some(0) || !ran.errors.is_empty(), "{arguments:?} says nothing");
        ran.code
    };
    assert_eq!(code(&["check"]).await, Some(0));
    assert_eq!(code(&["providers"]).await, Some(0));
    assert_eq!(code(&["health"]).await, Some(0));
    assert_eq!(code(&["completions", "bash"]).await, Some(0));
    assert_eq!(code(&["migrate"]).await, Some(0));
    assert_eq!(code(&["--help"]).await, Some(0));
    assert_eq!(code(&["--version"]).await, Some(0));
    assert_eq!(code(&["deliveries", "list", "--limit", "1"]).await, Some(0));
    assert_eq!(code(&["dance"]).await, Some(2));
    assert_eq!(code(&["deliveries", "show", "one"]).await, Some(2));
    assert_eq!(code(&["deliveries", "list", "--state", "lost"]).await, Some(2));
    assert_eq!(code(&["replay"]).await, Some(2), "everything is not a default");
    assert_eq!(code(&["--set", "workers.concurrency=0", "check"]).await, Some(2));
    assert_eq!(code(&["--config", "/nowhere.toml", "check"]).await, Some(2));
    assert_eq!(code(&["deliveries", "show", "4711"]).await, Some(3));
    assert_eq!(code(&["deliveries", "body", "4711"]).await, Some(3));
    assert_eq!(code(&["jobs", "show", "4711-0"]).await, Some(3));
    assert_eq!(code(&["jobs", "retry", "4711-0"]).await, Some(3));
    assert_eq!(code(&["trigger", "nobody", "push"]).await, Some(3));
    assert_eq!(code(&["--admin-url", "http://127.0.0.1:1", "jobs", "list"]).await, Some(4));
    assert_eq!(code(&["trigger", "--url", "http://127.0.0.1:1", "github", "push"]).await, Some(4));
    assert_eq!(
        code(&["--admin-url", "http://127.0.0.1:1", "health"]).await,
        Some(1),
        "or Docker errs"
    );
    let wrong = server.cli(["jobs", "list"]).env("POSTHOUSE_ADMIN_TOKEN", "wrong").run().await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert_eq!(server.post("github", github("7d3c0059", "{}")).await.status, 200);
    let jobs = server.settled().await;
    let id = jobs[0]["id"].as_str().unwrap();
    assert_eq!(code(&["jobs", "show", id]).await, Some(0));
    assert_eq!(code(&["jobs", "cancel", id]).await, Some(1), "it has succeeded");
});

both!(lists_and_bodies_are_those_of_the_ledger, |world| async {
    let server = world.serve(&logged("github")).await;
    let body = "{\"bytes\":\"\u{1F680}\\u0000\"}\r\n";
    for n in 0..3 {
        let answer = server.post("github", github(&format!("7d3c0060-{n}"), body)).await;
        assert_eq!(answer.status, 200);
    }
    server.settled().await;
    let list = async |arguments: &[&str]| -> Value {
        let ran = server.cli([]).arguments(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.output).unwrap()
    };
    let all = list(&["--output", "json", "deliveries", "list"]).await;
    assert_eq!(all["items"], json!(server.deliveries("").await));
    let page = list(&["--output", "json", "deliveries", "list", "--limit", "2"]).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    let next = page["next"].as_str().unwrap();
    let rest = list(&["--output", "json", "deliveries", "list", "--before", next]).await;
    assert_eq!(rest["items"].as_array().unwrap()[..], all["items"].as_array().unwrap()[2..]);
    let one = list(&["--output", "json", "deliveries", "list", "--key", "7d3c0060-1"]).await;
    assert_eq!(one["items"][0], all["items"][1]);
    let none = list(&["--output", "json", "deliveries", "list", "--state", "dead"]).await;
    assert_eq!(none["items"], json!([]));
    let jobs = list(&["--output", "json", "jobs", "list", "--state", "succeeded"]).await;
    assert_eq!(jobs["items"], json!(server.jobs("").await));
    let id = all["items"][0]["id"].as_str().unwrap();
    let ran = server.cli(["deliveries", "body", id]).run().await;
    assert_eq!(ran.output.as_bytes(), body.as_bytes());
    let table = server.cli(["deliveries", "list"]).run().await.output;
    assert_eq!(table.lines().count(), 4, "{table}");
});

both!(a_dead_job_can_be_retried_and_a_waiting_one_cancelled, |world| async {
    let stub = Stub::start([Answer::status(400), Answer::ok()]).await;
    let server = world.serve(&straight("github", &stub)).await;
    assert_eq!(server.post("github", github("7d3c0061", "{}")).await.status, 200);
    let dead = server.settled().await;
    assert_eq!(dead[0]["state"], "dead");
    let id = dead[0]["id"].as_str().unwrap();
    let ran = server.cli(["jobs", "retry", id]).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    stub.until(2).await;
    assert_eq!(server.settled().await[0]["state"], "succeeded");
    let paused = server.cli(["pause", "route", "github-out"]).run().await;
    assert_eq!(paused.code, Some(0), "{paused:?}");
    assert_eq!(server.post("github", github("7d3c0062", "{}")).await.status, 200);
    let id = server.jobs("?state=ready").await[0]["id"].as_str().unwrap().to_owned();
    let ran = server.cli(["jobs", "cancel", &id]).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let resumed = server.cli(["resume", "route", "github-out"]).run().await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(server.settled().await[0]["state"], "cancelled");
    assert_eq!(stub.calls(), 2);
});

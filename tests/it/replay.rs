//! Replays: every one runs, none runs twice, and what comes of it can be told apart.

use crate::harness::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const BODY: &str = r#"{"n":1}"#;

both!(each_replay_is_a_run_of_its_own, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    assert_eq!(server.post("github", github("7d3c00a6", BODY)).await.status, 200);
    server.settled().await;
    let id = server.only_delivery().await["id"].as_str().unwrap().to_owned();
    for runs in [2, 3] {
        let replay = server.cli(["replay", &id]).run().await;
        assert_eq!(replay.code, Some(0), "{replay:?}");
        assert!(replay.output.contains("1 job replayed, 0 skipped"), "{}", replay.output);
        stub.until(runs).await;
        server.settled().await;
    }
    let received = stub.received();
    let all = |name: &str| -> Vec<Option<String>> {
        received.iter().map(|request| request.header(name)).collect()
    };
    assert_eq!(received.len(), 3);
    assert_eq!(all("webhook-id").iter().collect::<BTreeSet<_>>().len(), 1, "one delivery");
    assert_eq!(all("idempotency-key").iter().collect::<BTreeSet<_>>().len(), 1);
    let nonces = all("posthouse-replay");
    assert_eq!(nonces[0], None, "the first run is no replay");
    assert!(nonces[1].is_some() && nonces[2].is_some() && nonces[1] != nonces[2], "{nonces:?}");
    assert!(received.iter().all(|request| request.body == BODY.as_bytes()));
    let all = server.delivery(&id).await;
    let replays: Vec<&Value> =
        all["jobs"].as_array().unwrap().iter().map(|job| &job["replays"]).collect();
    assert_eq!(replays, [&json!(null), &json!(format!("{id}-0")), &json!(format!("{id}-1"))]);
    let operations = all["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 2, "who did what, and when: {operations:#?}");
    assert!(operations.iter().all(|one| one["at"].is_string()), "{operations:#?}");
});

both!(two_replays_of_everything_dead_at_once_run_it_once, |world| async {
    let mut answers = vec![Answer::status(500); 20];
    answers.push(Answer::ok());
    let stub = Stub::start(answers).await;
    let server = world.serve(&(straight("github", &stub) + "max_attempts = 1\n")).await;
    let requests = (0..20).map(|n| github(&format!("7d3c00a7-{n}"), format!("{{\"n\":{n}}}")));
    let requests = requests.map(|request| (server.public(), request.to("/hooks/github")));
    assert!(at_once(requests.collect()).await.iter().all(|answer| answer.status == 200));
    let jobs = server.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "dead"), "{jobs:#?}");
    assert_eq!(server.post("github", github("7d3c00a8", r#"{"fine":1}"#)).await.status, 200);
    server.settled().await;
    let replay = || {
        server.cli(["--output", "json", "replay", "--state", "dead", "--source", "github"]).run()
    };
    let (one, two) = tokio::join!(replay(), replay());
    let counts = [one, two].map(|ran| {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report: Value = serde_json::from_str(&ran.output).unwrap();
        report["replayed"].as_array().unwrap().len()
    });
    assert_eq!(counts.iter().sum::<usize>(), 20, "{counts:?}");
    stub.until(41).await;
    let jobs = server.settled().await;
    assert_eq!((stub.calls(), jobs.len()), (41, 41));
    let bodies: BTreeSet<_> = stub.received().into_iter().skip(21).map(|one| one.body).collect();
    assert_eq!(bodies.len(), 20, "each of the dead once, and nothing that was fine");
    // Now nothing is dead any more that was not replayed.
    let again = replay().await;
    let report: Value = serde_json::from_str(&again.output).unwrap();
    assert_eq!(report["replayed"].as_array().unwrap().len(), 0, "{report}");
});

both!(a_dry_run_says_what_a_replay_would_do_and_does_nothing, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    for key in ["7d3c00b0", "7d3c00b1"] {
        assert_eq!(server.post("github", github(key, BODY)).await.status, 200);
    }
    server.settled().await;
    let dry = server.cli(["replay", "--kind", "push", "--dry-run"]).run().await;
    assert!(dry.output.contains("2 jobs would be replayed"), "{dry:?}");
    let none = server.cli(["replay", "--kind", "issues", "--dry-run"]).run().await;
    assert!(none.output.contains("0 jobs would be replayed"), "{none:?}");
    assert_eq!((server.jobs("").await.len(), stub.calls()), (2, 2));
    let unknown = server.cli(["replay", "1", "2", "4711"]).run().await;
    assert_eq!(unknown.code, Some(3), "an id that is not there: {unknown:?}");
    assert_eq!(server.jobs("").await.len(), 2, "and then nothing at all is replayed");
});

both!(a_redelivery_is_visible_although_it_does_not_run, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let request = github("7d3c00a9", BODY);
    let first = server.post("github", request.clone()).await.json();
    server.settled().await;
    for _ in 0..2 {
        let repeat = server.post("github", request.clone()).await;
        assert_eq!((repeat.status, &repeat.json()["status"]), (200, &json!("duplicate")));
        assert_eq!(repeat.json()["delivery"], first["delivery"]);
        assert_eq!(repeat.json()["state"], "succeeded");
        assert_eq!(repeat.json()["received_at"], server.only_delivery().await["received_at"]);
    }
    assert_eq!(first["received_at"], Value::Null);
    let other = server.post("github", github("7d3c00a9", r#"{"other":"content"}"#)).await;
    assert_eq!(other.status, 409);
    let delivery = server.only_delivery().await;
    assert_eq!((&delivery["repeats"], &delivery["conflicts"]), (&json!(2), &json!(1)));
    let times =
        ["received_at", "repeated_at"].map(|name| delivery[name].as_str().unwrap().to_owned());
    assert!(times[0] < times[1], "{times:?}");
    let shown = server.cli(["deliveries", "show", delivery["id"].as_str().unwrap()]).run().await;
    assert!(shown.output.contains("7d3c00a9") && shown.output.contains('2'), "{}", shown.output);
    // Every receipt, with its time and where it came from.
    let receipts = server.delivery(delivery["id"].as_str().unwrap()).await["receipts"].clone();
    let receipts = receipts.as_array().unwrap();
    let said: Vec<_> = receipts.iter().map(|receipt| receipt["said"].as_str().unwrap()).collect();
    assert_eq!(said, ["duplicate", "duplicate", "conflict"]);
    assert!(receipts.iter().all(|receipt| receipt["from"] == "127.0.0.1"), "{receipts:?}");
    let at = |at: usize| receipts[at]["at"].as_str().unwrap();
    assert!(times[0].as_str() < at(0) && at(0) < at(1) && at(1) < at(2), "{receipts:?}");
    assert_eq!(delivery["received_from"], "127.0.0.1");
    let peer = |one: &Received| one.headers.iter().any(|(_, value)| value == b"127.0.0.1");
    assert!(!stub.received().iter().any(peer), "addresses are for operators");
    assert_eq!(stub.calls(), 1);
});

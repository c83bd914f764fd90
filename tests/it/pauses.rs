//! Pausing: a source, a route, a destination, a lane. What is recorded stays recorded.

use crate::harness::*;
use serde_json::json;

async fn told<const N: usize>(server: &Server, arguments: [&str; N]) -> String {
    let ran = server.cli(arguments).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.output
}

both!(a_paused_source_asks_its_senders_to_come_back, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&(straight("github", &stub) + &source("stripe"))).await;
    told(&server, ["pause", "source", "github", "--reason", "moving house"]).await;
    let answer = server.post("github", push("one", 1)).await;
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
    server.restart().await;
    assert_eq!(server.post("github", push("one", 1)).await.status, 429, "it outlives a restart");
    assert_eq!(server.post("stripe", stripe(r#"{"id":"evt_1","type":"x"}"#)).await.status, 200);
    let forged = push("one", 1).with("X-Hub-Signature-256", format!("sha256={}", "0".repeat(64)));
    assert_eq!(server.post("github", forged).await.status, 401, "strangers learn nothing");
    assert!(told(&server, ["pauses"]).await.contains("moving house"));
    assert!(told(&server, ["resume", "source", "github"]).await.contains("goes on"));
    assert_eq!(server.post("github", push("one", 1)).await.json()["status"], "accepted");
    stub.until(1).await;
    server.settled().await;
});

both!(a_source_that_is_paused_through_one_process_is_paused_in_all, |world| async {
    let config = logged("github");
    let first = world.serve(&config).await;
    let other = world.posthouse(&config).args(["serve", "--role", "receiver"]).within("other");
    let other = other.serve().await;
    assert_eq!(other.post("github", push("before", 1)).await.status, 200);
    let mut number = 1;
    let mut until_answered = async |server: &Server, status: u16| {
        until("the other process to hear of it", async || {
            number += 1;
            let answer = server.post("github", push("then", number)).await;
            (answer.status == status).then_some(())
        })
        .await;
    };
    told(&first, ["pause", "source", "github"]).await;
    until_answered(&other, 429).await;
    told(&other, ["resume", "source", "github"]).await;
    until_answered(&first, 200).await;
});

both!(a_paused_destination_stops_all_its_routes, |world| async {
    let (stub, other) = (Stub::ok().await, Stub::ok().await);
    let config = straight("github", &stub) + &route("stripe", "out") + &source("stripe");
    let config = config + &destination("other", &other) + &route("github", "other");
    let mut server = world.serve(&config).await;
    told(&server, ["pause", "destination", "out"]).await;
    assert_eq!(server.post("github", push("one", 1)).await.status, 200);
    assert_eq!(server.post("stripe", stripe(r#"{"id":"evt_1","type":"x"}"#)).await.status, 200);
    other.until(1).await;
    server.stop().await;
    server.restart().await;
    let held = server.jobs("?state=ready").await;
    assert_eq!((held.len(), stub.calls()), (2, 0));
    let shown = told(&server, ["jobs", "show", held[0]["id"].as_str().unwrap()]).await;
    assert!(shown.contains("its destination is PAUSED"), "{shown}");
    assert!(shown.contains("posthouse resume destination out"), "{shown}");
    told(&server, ["resume", "destination", "out"]).await;
    stub.until(2).await;
    server.settled().await;
});

both!(a_paused_lane_stops_nobody_else, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&straight("github", &stub)).await;
    let lane = lane_of("one");
    told(&server, ["pause", "lane", "github-out", &lane]).await;
    for n in 1..=2 {
        assert_eq!(server.post("github", push("one", n)).await.status, 200);
        assert_eq!(server.post("github", push("two", n)).await.status, 200);
    }
    assert_eq!(keys_of(&stub.until(2).await), ["two-1", "two-2"]);
    server.stop().await;
    server.restart().await;
    let states: Vec<_> = server.jobs("").await.iter().map(|job| job["state"].clone()).collect();
    assert_eq!(states.iter().filter(|state| **state == "ready").count(), 1, "{states:?}");
    let held = server.jobs("?state=ready").await;
    let shown = told(&server, ["jobs", "show", held[0]["id"].as_str().unwrap()]).await;
    let hint = format!("posthouse resume lane github-out {lane}");
    assert!(shown.contains("its lane is PAUSED") && shown.contains(&hint), "{shown}");
    told(&server, ["resume", "lane", "github-out", &lane]).await;
    assert_eq!(keys_of(&stub.until(4).await)[2..], ["one-1", "one-2"]);
    server.settled().await;
});

both!(what_is_not_there_cannot_be_paused, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    for arguments in [
        ["pause", "source", "nobody"],
        ["pause", "route", "nobody"],
        ["pause", "destination", "nobody"],
        ["resume", "route", "nobody"],
    ] {
        assert_eq!(server.cli(arguments).run().await.code, Some(3), "{arguments:?}");
    }
    let ran = server.cli(["pause", "planet", "out"]).run().await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(server.cli(["pause", "lane", "github-out"]).run().await.code, Some(2));
    assert!(told(&server, ["resume", "route", "github-out"]).await.contains("was not paused"));
    let entity = json!({ "scope": "route", "name": "github-out", "entity": "x" });
    assert_eq!(server.ask("POST", "/api/pauses", Some(entity)).await.status, 400);
    assert_eq!(server.get("/api/pauses").await["items"], json!([]));
});

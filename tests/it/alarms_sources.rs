//! Alarms about sources: silence, configured and learned, and conflicts.

use crate::harness::*;

/// A source that is recorded, with how long it may be silent.
fn limited(after: &str) -> String {
    let more = format!("silent_after = {after:?}\n");
    source("github") + &more + "[destinations.log]\ntype = \"log\"\n" + &route("github", "log")
}

async fn send(server: &Server, n: usize) {
    assert_eq!(server.post("github", push("one", n)).await.status, 200);
}

both!(a_source_that_falls_silent_is_told_and_cleared_by_its_next_delivery, |world| async {
    let ops = Stub::ok().await;
    let server = world.serve(&(watchful(&ops) + &limited("1s") + &source("stripe"))).await;
    // Configured, so it is watched before its first delivery; the other one is not.
    let [raised, cleared] = ["raised silent github", "cleared silent github"];
    until_told(&ops, &[raised]).await;
    let detail = notice(&ops.received()[0])["detail"].to_string();
    assert!(detail.contains("longer than 1s; last delivery: never"), "{detail}");
    send(&server, 1).await;
    until_told(&ops, &[raised, cleared]).await;
    until_told(&ops, &[raised, cleared, raised]).await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, ["silent github"]);
    assert_eq!(server.lines_with("ALARM silent github"), 2);
    // A source that an operator has paused is silent on purpose.
    let ran = server.cli(["pause", "source", "github"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    until_told(&ops, &[raised, cleared, raised, cleared]).await;
});

/// Spreads what was received of a source, four hours apart, the last one so many hours ago. All of
/// it is GitHub's then.
async fn spread(world: &World, source: &str, hours_ago: i64) {
    let (hour_us, now_us) = (3_600_000_000_i64, now() * 1_000_000);
    let last_us = now_us - hours_ago * hour_us;
    let text = format!(
        "UPDATE deliveries SET source = 'github', received_us = {last_us} - {} *
            ((SELECT max(id) FROM deliveries) - id) WHERE source IN ('github', '{source}')",
        4 * hour_us
    );
    world.database.run(&text).await;
}

both!(how_long_a_source_may_be_silent_is_learned_from_its_deliveries, |world| async {
    let more = named_source("other", "github") + &source("stripe") + "silent_after = \"11s\"\n";
    let server = world.serve(&(WATCHFUL.to_owned() + &logged("github") + &more)).await;
    // 49 deliveries are too few to learn from, although they span more than a week.
    assert_eq!(server.post("other", push("one", 0)).await.status, 200);
    for n in 1..=49 {
        send(&server, n).await;
    }
    spread(&world, "github", 13).await;
    // By then it has given all sources the time to come back after its start.
    server.until_alarms(&["silent stripe"]).await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, ["silent stripe"]);
    spread(&world, "other", 11).await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, ["silent stripe"], "three gaps of four hours are usual");
    spread(&world, "github", 13).await;
    server.until_alarms(&["silent github", "silent stripe"]).await;
    server.until_lines("ALARM silent github: silent for longer than 43200s", 1).await;
    send(&server, 51).await;
    server.until_alarms(&["silent stripe"]).await;
});

both!(conflicts_are_one_alarm_that_clears_with_time, |world| async {
    let ops = Stub::ok().await;
    let server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    let with = |content: usize| github("k1", format!("{{\"n\":{content}}}"));
    let answer = server.post("github", with(0)).await;
    let id = answer.json()["delivery"].as_str().unwrap().to_owned();
    let conflict = async |content| {
        assert_eq!(server.post("github", with(content)).await.status, 409);
    };
    conflict(1).await;
    let [raised, cleared] = ["raised conflict github", "cleared conflict github"];
    until_told(&ops, &[raised]).await;
    let told = notice(&ops.received()[0]);
    assert_eq!(told["detail"], format!("other content for delivery {id}"));
    // A repeat with the same content is none.
    assert_eq!(server.post("github", with(0)).await.status, 200);
    conflict(2).await;
    conflict(3).await;
    server.looked(&world).await;
    let alarm = server.get("/api/alarms").await["items"][0].clone();
    assert_eq!((&alarm["count"], &alarm["since"]), (&3.into(), &told["since"]));
    assert_eq!(server.lines_with("ALARM conflict github"), 1);
    // A quarter of an hour after the last one it is over.
    let left = "SELECT (clears_us - last_us) / 1000000 FROM alarms WHERE cause = 'conflict'";
    assert_eq!(world.database.number(left).await, 900);
    world.database.run("UPDATE alarms SET clears_us = 1").await;
    until_told(&ops, &[raised, cleared]).await;
    server.until_alarms(&[]).await;
    conflict(4).await;
    until_told(&ops, &[raised, cleared, raised]).await;
    let alarm = server.get("/api/alarms").await["items"][0].clone();
    assert_eq!(alarm["count"], 1);
});

both!(what_a_process_does_not_know_it_neither_raises_nor_clears, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("heads/first", [Answer::ok().behind(&gate)]);
    let often = WATCHFUL.to_owned() + "oldest = \"1s\"\n";
    let config = "[workers]\nconcurrency = 1\n".to_owned() + &often + &source("github");
    let config = config + "silent_after = \"1s\"\n" + &out(&stub) + &route("github", "out");
    let mut first = world.serve(&config).await;
    assert_eq!(first.post("github", push("first", 1)).await.status, 200);
    stub.until(1).await;
    assert_eq!(first.post("github", push("second", 2)).await.status, 200);
    first.until_alarms(&["oldest github-out", "silent github"]).await;
    first.said("ALARM oldest").await;
    first.said("ALARM silent").await;
    first.kill();
    // Another machine knows another source and another route only.
    let second = world.posthouse(&(often + &logged("stripe"))).within("second").serve().await;
    second.looked(&world).await;
    second.looked(&world).await;
    assert_eq!(second.alarms().await, ["oldest github-out", "silent github"]);
    assert_eq!(second.lines_with("github"), 0, "{}", second.errors());
    // When nobody has confirmed them for an hour, nobody knows them any more.
    world.database.run("UPDATE alarms SET last_us = last_us - 3700000000").await;
    second.until_alarms(&[]).await;
});

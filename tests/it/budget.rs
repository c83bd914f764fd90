//! What all processes together may do to a destination: so many attempts a second, so many at
//! once.

use crate::harness::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

const CLAIMS: &str = "posthouse_claims_total";

/// On PostgreSQL processes hear of each other, on SQLite they have to look.
fn poll(world: &World) -> &'static str {
    match world.engine {
        Engine::Postgres => "[workers]\npoll = \"1m\"\nlease = \"1s\"\n",
        Engine::Sqlite => "[workers]\npoll = \"50ms\"\nlease = \"1s\"\n",
    }
}

/// The destination `out` within bounds.
fn bounded(stub: &Stub, keys: &str) -> String {
    source("github") + &out(stub) + keys + &route("github", "out")
}

/// Two processes.
async fn pair(world: &World, config: &str) -> [Server; 2] {
    let first = world.serve(config).await;
    let second = world.posthouse(config).args(["serve", "--role", "worker"]).within("second");
    [first, second.serve().await]
}

/// Sends deliveries, each in a lane of its own.
async fn send(server: &Server, count: usize) {
    let requests = (0..count).map(|n| push(&format!("branch{n}"), n).to("/hooks/github"));
    for answer in send_all(server.public(), requests.collect(), 8, Default::default()).await {
        assert_eq!(answer.expect("an answer").status, 200);
    }
}

/// Which processes had a hand in it.
async fn workers(server: &Server) -> BTreeSet<String> {
    let mut workers = BTreeSet::new();
    for job in server.jobs("").await {
        let shown = server.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
        workers.insert(shown["attempts"][0]["worker"].to_string());
    }
    workers
}

both!(two_processes_keep_to_one_rate_and_make_use_of_it, |world| async {
    const RATE: usize = 20;
    let (stub, other) = (Stub::ok().await, Stub::ok().await);
    let config = poll(&world).to_owned() + &bounded(&stub, &format!("rate = {RATE}\n"));
    let config = config + &destination("other", &other) + &route("github", "other");
    let servers = pair(&world, &config).await;
    send(&servers[0], 80).await;
    other.until(80).await;
    assert!(stub.calls() < 80, "the other destination does not wait for this one");
    servers[0].settled().await;
    let begun: Vec<_> = stub.received().iter().map(|one| one.begun).collect();
    assert_eq!(begun.len(), 80);
    // A burst of two, and a little for the way to the stub.
    let room = |elapsed: Duration| elapsed.as_secs_f64() * RATE as f64 + 2.0 + 3.0;
    for (from, start) in begun.iter().enumerate() {
        for (to, end) in begun.iter().enumerate().skip(from) {
            let (count, elapsed) = (to - from + 1, end.saturating_duration_since(*start));
            assert!(count as f64 <= room(elapsed), "{count} within {elapsed:?}");
        }
    }
    let took = begun[79].duration_since(begun[0]);
    assert!(took < Duration::from_secs(7), "80 at {RATE} a second took {took:?}");
    assert_eq!(workers(&servers[1]).await.len(), 2);
    // They were told when to look, and looked then.
    let mut claims = 0.0;
    for server in &servers {
        claims += server.metric(CLAIMS).await;
    }
    let polls = if world.engine == Engine::Sqlite { 2.0 * 2.0 * 20.0 * 10.0 } else { 0.0 };
    assert!(claims < 600.0 + polls, "{claims} claims for 160 attempts");
});

both!(routes_to_one_destination_take_turns, |world| async {
    let stub = Stub::ok().await;
    let second = route("github", "out") + "name = \"zweite\"\n";
    let config = poll(&world).to_owned() + &bounded(&stub, "rate = 20\n") + &second;
    let server = world.serve(&config).await;
    send(&server, 30).await;
    let received = stub.until(30).await;
    let of_second = received[..30]
        .iter()
        .filter(|one| one.header("idempotency-key").is_some_and(|key| key.ends_with(":zweite")));
    let of_second = of_second.count();
    assert!((10..=20).contains(&of_second), "{of_second} of 30");
});

both!(two_processes_never_have_more_under_way_than_allowed, |world| async {
    let (stub, gate) =
        (Stub::start([Answer::ok().after(Duration::from_millis(20))]).await, Gate::closed());
    let other = Stub::start([Answer::ok().after(Duration::from_secs(1))]).await;
    stub.when("\"n\":0,", [Answer::ok().behind(&gate)]);
    stub.when("\"n\":1,", [Answer::ok().behind(&gate)]);
    stub.when("\"n\":2,", [Answer::ok().behind(&gate)]);
    let second = route("github", "out") + "name = \"zweite\"\n";
    let config = poll(&world).to_owned() + &bounded(&stub, "concurrency = 3\n") + &second;
    let config = config + &destination("slow", &other) + &route("github", "slow");
    let servers = pair(&world, &(config + "events = [\"ping\"]\n")).await;
    send(&servers[0], 3).await;
    stub.until(3).await;
    // Meanwhile there is room for nothing, and nobody looks again and again.
    send(&servers[0], 40).await;
    let mut before = 0.0;
    for server in &servers {
        before += server.metric(CLAIMS).await;
    }
    let ping = github_by(GITHUB, "ping-1", "ping", "{}");
    assert_eq!(servers[0].post("github", ping).await.status, 200);
    until("the slow one", async || {
        let done = servers[0].jobs("?route=github-slow&state=succeeded").await;
        (done.len() == 1).then_some(())
    })
    .await;
    let mut claims = -before;
    for server in &servers {
        claims += server.metric(CLAIMS).await;
    }
    let polls = if world.engine == Engine::Sqlite { 3.0 * 2.0 * 20.0 * 4.0 } else { 0.0 };
    assert!(claims < 30.0 + polls, "{claims} claims for one job");
    assert_eq!(stub.calls(), 3);
    let listed = servers[1].get("/api/destinations").await;
    let out = listed["items"].as_array().unwrap().iter().find(|item| item["name"] == "out");
    assert_eq!(out.unwrap()["running"], 3, "{listed}");

    gate.open();
    let jobs = servers[0].settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    assert_eq!((stub.calls(), stub.open_most()), (2 * 41, 3));
    // On SQLite whoever looks first may get it all.
    let both = workers(&servers[1]).await.len() == 2;
    assert!(both || world.engine == Engine::Sqlite, "only one process had a hand in it");
});

both!(the_place_of_a_process_that_died_is_given_to_another, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("\"n\":0,", [Answer::ok().behind(&gate), Answer::ok()]);
    let config = poll(&world).to_owned() + &bounded(&stub, "concurrency = 1\n") + SOON;
    let mut first = world.serve(&config).await;
    send(&first, 1).await;
    stub.until(1).await;
    send(&first, 5).await;
    let second = world.posthouse(&config).args(["serve", "--role", "worker"]).within("second");
    let second = second.serve().await;
    first.kill();
    let jobs = second.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    assert_eq!(stub.calls(), 6);
    assert_eq!(second.metric("posthouse_takeovers_total").await, 1.0);
    let lane = jobs.iter().find(|job| job["key"] == "branch0-0").unwrap();
    assert_eq!(lane["attempt_count"], json!(2));
});

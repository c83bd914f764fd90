//! Order among many: ten thousand events in disorder, two workers, one of them killed; and one
//! entity that fails while all others go on.

use crate::harness::*;
use nix::sys::signal::Signal;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

const ENTITIES: usize = 500;
const EVENTS: usize = 20;

/// Requests are shuffled among so many neighbours: far fewer than arrive within the hold.
const WINDOW: usize = 100;

/// The `n`-th change of an entity, in seconds.
fn change(entity: usize, n: usize) -> Request {
    let event = json!({ "id": format!("evt_{entity}_{n}"), "object": "event",
        "type": "invoice.updated", "created": 1_700_000_000 + n,
        "data": { "object": { "id": format!("in_{entity}"), "object": "invoice" } } });
    stripe(event.to_string()).to("/hooks/stripe")
}

/// What an entity was told, in order: the numbers of its changes. A change that is told twice in
/// a row was cut off by the kill, and counts once.
fn told(received: &[Received]) -> BTreeMap<String, Vec<usize>> {
    let mut told: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for one in received {
        let key = key_of(one);
        let (entity, n) = key.rsplit_once('_').unwrap();
        let numbers = told.entry(entity.to_owned()).or_default();
        let n = n.parse().unwrap();
        if numbers.last() != Some(&n) {
            numbers.push(n);
        }
    }
    told
}

both!(ten_thousand_events_in_disorder_come_out_in_order_though_a_worker_is_killed, |world| async {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut changes: Vec<(usize, usize)> =
        (0..EVENTS).flat_map(|n| (0..ENTITIES).map(move |entity| (entity, n))).collect();
    // First as it happens: some entities are busier than others. Then as it comes.
    changes.chunks_mut(ENTITIES).for_each(|round| round.shuffle(&mut rng));
    let offset = rng.random_range(0..WINDOW);
    changes[offset..].chunks_mut(WINDOW).for_each(|window| window.shuffle(&mut rng));
    let stub = Stub::start([Answer::ok().after(Duration::from_millis(2))]).await;
    let workers = "[workers]\nlease = \"2s\"\npoll = \"50ms\"\n";
    let order = "order = \"occurred\"\nhold = \"1s\"\n";
    let config = workers.to_owned() + &straight("stripe", &stub) + order;
    let role = |name: &'static str, role| {
        world.posthouse(&config).args(["serve", "--role", role]).within(name)
    };
    let receiver = role("receiver", "receiver").serve().await;
    let mut doomed = role("doomed", "worker").serve().await;
    let other = role("other", "worker").serve().await;
    let requests = changes.iter().map(|(entity, n)| change(*entity, *n)).collect();
    let sending = send_all(receiver.public(), requests, 8, Default::default());
    let held = format!(
        "SELECT count(*) FROM jobs WHERE state = 'running' AND worker LIKE '%-{}-%'",
        doomed.pid()
    );
    let killing = async {
        until("the workers to be at it", async || (stub.calls() > 1500).then_some(())).await;
        until("the doomed one to hold leases", async || {
            doomed.signal(Signal::SIGSTOP);
            let holds = world.database.number(&held).await > 0;
            if !holds {
                doomed.signal(Signal::SIGCONT);
            }
            holds.then_some(())
        })
        .await;
        doomed.kill();
    };
    let (answers, ()) = tokio::join!(sending, killing);
    assert!(answers.iter().all(|answer| answer.as_ref().is_some_and(|a| a.status == 200)));
    let open = "SELECT count(*) FROM jobs WHERE state <> 'succeeded'";
    let begun = Instant::now();
    while world.database.number(open).await > 0 {
        assert!(begun.elapsed() < Duration::from_secs(90), "they do not come to an end");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let jobs = world.database.number("SELECT count(*) FROM jobs").await;
    assert_eq!(jobs, (ENTITIES * EVENTS) as i64);
    let received = stub.received();
    let told = told(&received);
    assert_eq!(told.len(), ENTITIES);
    for (entity, numbers) in told {
        assert_eq!(numbers, (0..EVENTS).collect::<Vec<_>>(), "{entity} (seed {seed})");
    }
    assert!(received.iter().all(|one| one.header("posthouse-stale").is_none()));
    let twice = received.len() - ENTITIES * EVENTS;
    let takeovers = other.metric("posthouse_takeovers_total").await;
    println!("{twice} attempts were cut off and repeated, {takeovers} leases taken over");
    assert!(takeovers >= 1.0, "it was killed at work");
    by_lane(&received.iter().filter(|one| one.ended.is_some()).cloned().collect::<Vec<_>>());
});

both!(one_failing_entity_among_five_hundred_delays_nobody_else, |world| async {
    let stub = Stub::ok().await;
    stub.when("in_250\"", [Answer::status(500)]);
    let order = "max_attempts = 1000\nbackoff = \"20ms\"\nbackoff_max = \"100ms\"\n";
    let config = straight("stripe", &stub) + order;
    let server = world.serve(&config).await;
    let changes = (0..4).flat_map(|n| (0..ENTITIES).map(move |entity| change(entity, n)));
    let heard = Default::default();
    let answers = send_all(server.public(), changes.collect(), 8, heard).await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_some_and(|a| a.status == 200)));
    let others = ((ENTITIES - 1) * 4) as i64;
    let done = "SELECT count(*) FROM jobs WHERE state = 'succeeded'";
    until("all others", async || (world.database.number(done).await == others).then_some(())).await;
    let failing = "SELECT count(*) FROM jobs WHERE state IN ('retrying', 'running', 'waiting')";
    assert_eq!(world.database.number(failing).await, 4, "it still fails, and keeps its order");
    // How long a delivery of the others waited, from its receipt to its settled job.
    let mut delays: Vec<f64> = Vec::new();
    for n in [0.5, 0.9, 0.99, 1.0] {
        let at = ((others - 1) as f64 * n) as i64;
        let us = format!(
            "SELECT j.settled_us - d.received_us FROM jobs j JOIN deliveries d
             ON d.id = j.id / 4096 WHERE j.state = 'succeeded'
             ORDER BY j.settled_us - d.received_us LIMIT 1 OFFSET {at}"
        );
        delays.push(world.database.number(&us).await as f64 / 1e3);
    }
    println!(
        "delay of the others, ms: p50 {:.0}, p90 {:.0}, p99 {:.0}, max {:.0}",
        delays[0], delays[1], delays[2], delays[3]
    );
    let mut attempts: HashMap<bool, usize> = HashMap::new();
    for one in stub.received() {
        *attempts.entry(key_of(&one).starts_with("evt_250_")).or_default() += 1;
    }
    assert_eq!(attempts[&false], others as usize);
    assert!(attempts[&true] > 3, "{attempts:?}");
});

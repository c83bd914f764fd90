//! Batches: the events of one request become deliveries, all of them or none, each under its own
//! key however its sender groups them.

use crate::harness::*;
use serde_json::{Value, json};

/// A source of the samples' that delivers to a stub. Further keys of the source may follow.
fn batched(stub: &Stub, keys: &str) -> String {
    named_source("sample", "github") + keys + "\n" + &out(stub) + &route("sample", "out")
}

/// The body of a batch, one event a line.
fn body(events: &[Value]) -> String {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    format!("{{\"events\": [\n{}\n]}}", lines.join(",\n"))
}

fn event(id: &str) -> Value {
    json!({ "id": id, "type": "paid", "about": "customer-7", "n": id.len() })
}

/// Sends a batch; its status and what it says of every event.
async fn send(server: &Server, events: &[Value]) -> (u16, Vec<Value>) {
    let answer = server.post("sample", github("unused", body(events))).await;
    let verdicts = match answer.status {
        200 | 409 => match answer.json()["deliveries"].as_array() {
            Some(several) => several.clone(),
            None => vec![answer.json()],
        },
        _ => Vec::new(),
    };
    (answer.status, verdicts)
}

fn words(verdicts: &[Value]) -> Vec<&str> {
    verdicts.iter().map(|verdict| verdict["status"].as_str().unwrap()).collect()
}

both!(every_event_has_its_own_key_however_they_are_grouped, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "")).with_samples().serve().await;
    let [a, b, c, d] = ["evt-a", "evt-b", "evt-c", "evt-d"].map(event);
    let (status, first) = send(&server, &[a.clone(), b.clone(), c.clone()]).await;
    assert_eq!((status, words(&first)), (200, vec!["accepted"; 3]));
    for (verdict, (event, state)) in
        first.iter().zip([(&a, "ready"), (&b, "waiting"), (&c, "waiting")])
    {
        assert_eq!(verdict["state"], state, "all are about the same customer");
        let id = verdict["delivery"].as_str().unwrap();
        assert_eq!(server.body(id).await, event.to_string().as_bytes(), "the bytes of its own");
        let delivery = server.delivery(id).await;
        assert_eq!(delivery["delivery"]["key"], event["id"]);
    }
    let (status, again) = send(&server, &[c, d.clone()]).await;
    assert_eq!((status, words(&again)), (200, vec!["duplicate", "accepted"]));
    assert_eq!(again[0]["delivery"], first[2]["delivery"]);
    let (status, alone) = send(&server, std::slice::from_ref(&d)).await;
    assert_eq!((status, words(&alone)), (200, vec!["duplicate"]));
    let (status, twice) = send(&server, &[event("evt-e"), event("evt-e")]).await;
    assert_eq!((status, words(&twice)), (200, vec!["accepted", "duplicate"]));
    // New ones beside those whose numbers are the last ones before them.
    let [e, f] = ["evt-e", "evt-f"].map(event);
    let (status, mixed) = send(&server, &[f.clone(), e, d]).await;
    assert_eq!((status, words(&mixed)), (200, vec!["accepted", "duplicate", "duplicate"]));
    assert_eq!(mixed[1]["delivery"], twice[0]["delivery"]);
    assert_eq!(mixed[2]["delivery"], again[1]["delivery"]);
    let id = mixed[0]["delivery"].as_str().unwrap();
    assert_eq!(server.body(id).await, f.to_string().as_bytes());
    assert_eq!(server.deliveries("").await.len(), 6);
    assert_eq!(stub.until(6).await.len(), 6);
});

both!(one_event_that_cannot_be_recorded_keeps_all_of_its_request_out, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "")).with_samples().serve().await;
    let (poison, cure) = match world.engine {
        Engine::Sqlite => (
            "CREATE TRIGGER poison BEFORE INSERT ON deliveries WHEN NEW.key = 'evt-2'
             BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
            "DROP TRIGGER poison",
        ),
        Engine::Postgres => (
            "ALTER TABLE deliveries ADD CONSTRAINT poison CHECK (key <> 'evt-2') NOT VALID",
            "ALTER TABLE deliveries DROP CONSTRAINT poison",
        ),
    };
    world.database.run(poison).await;
    let events = ["evt-1", "evt-2", "evt-3"].map(event);
    assert_eq!(send(&server, &events).await.0, 503);
    assert_eq!(server.deliveries("").await.len(), 0, "nothing of it, or a half would be unknown");
    assert_eq!(world.database.number("SELECT count(*) FROM lanes").await, 0);
    assert_eq!(send(&server, &[event("evt-4")]).await.0, 200, "others do not suffer");
    world.database.run(cure).await;
    let (status, verdicts) = send(&server, &events).await;
    assert_eq!((status, words(&verdicts)), (200, vec!["accepted"; 3]), "the retry heals it");
});

both!(the_events_of_a_batch_run_in_the_order_of_its_body, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "")).with_samples().serve().await;
    // Their keys are in the opposite order, and those of both batches are mixed.
    let events: Vec<Value> = (0..40).map(|n| event(&format!("evt-{:02}", 99 - n))).collect();
    let (first, second): (Vec<_>, Vec<_>) = (events[..20].to_vec(), events[20..].to_vec());
    for batch in [&first, &second] {
        assert_eq!(send(&server, batch).await.0, 200);
    }
    server.settled().await;
    let arrived: Vec<Value> =
        stub.received().iter().map(|one| serde_json::from_slice(&one.body).unwrap()).collect();
    let arrived: Vec<&Value> = arrived.iter().map(|event| &event["id"]).collect();
    let expected: Vec<&Value> = events.iter().map(|event| &event["id"]).collect();
    assert_eq!(arrived, expected);
});

both!(a_batch_of_thousands_is_one_transaction_and_has_a_limit, |world| async {
    let logged = named_source("sample", "github")
        + "body_max = \"2MiB\"\n[destinations.log]\ntype = \"log\"\n"
        + &route("sample", "log");
    let server = world.posthouse(&logged).with_samples().serve().await;
    let small = |n: usize| json!({ "id": format!("evt-{n}"), "about": n % 700 });
    let events: Vec<Value> = (0..2500).map(small).collect();
    let (status, verdicts) = send(&server, &events).await;
    assert_eq!(status, 200);
    assert!(words(&verdicts).iter().all(|word| *word == "accepted") && verdicts.len() == 2500);
    let (status, verdicts) = send(&server, &events).await;
    assert_eq!(status, 200);
    assert!(words(&verdicts).iter().all(|word| *word == "duplicate"), "{verdicts:?}");
    let deliveries = "SELECT count(*) FROM deliveries";
    assert_eq!(world.database.number(deliveries).await, 2500);
    let many: Vec<Value> = (0..10_001).map(|n| json!({ "id": n.to_string() })).collect();
    assert_eq!(send(&server, &many).await.0, 400);
    assert_eq!(world.database.number(deliveries).await, 2500);
    until("the jobs to be done", async || {
        let done = "SELECT count(*) FROM jobs WHERE state = 'succeeded'";
        (world.database.number(done).await == 2500).then_some(())
    })
    .await;
});

both!(a_conflict_within_a_batch_is_told_and_keeps_nothing_else_out, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "")).with_samples().serve().await;
    assert_eq!(send(&server, &[event("evt-1")]).await.0, 200);
    let mut other = event("evt-1");
    other["n"] = json!("other content");
    let (status, verdicts) = send(&server, &[event("evt-0"), other, event("evt-2")]).await;
    assert_eq!((status, words(&verdicts)), (409, vec!["accepted", "conflict", "accepted"]));
    assert_eq!(server.deliveries("").await.len(), 3);
});

both!(unless_it_is_split_a_batch_is_one_delivery, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "split = false")).with_samples().serve().await;
    let events = ["evt-1", "evt-2"].map(event);
    let (status, verdicts) = send(&server, &events).await;
    assert_eq!((status, words(&verdicts)), (200, vec!["accepted"]));
    assert_eq!(words(&send(&server, &events).await.1), ["duplicate"]);
    let delivery = server.only_delivery().await;
    assert_eq!(server.body(delivery["id"].as_str().unwrap()).await, body(&events).as_bytes());
    assert_eq!(delivery["entity"], "customer-7", "what all of them are about");
});

both!(an_event_out_of_a_form_is_delivered_as_what_it_is, |world| async {
    let stub = Stub::ok().await;
    let server = world.posthouse(&batched(&stub, "")).with_samples().serve().await;
    let form = "events=%5B%7B%22id%22%3A%22evt-1%22%7D,%7B%22id%22%3A%22evt-2%22%7D%5D";
    let form = github("unused", form).with("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(server.post("sample", form).await.status, 200);
    let mut bodies = Vec::new();
    for received in stub.until(2).await {
        assert_eq!(received.header("content-type").as_deref(), Some("application/json"));
        bodies.push(String::from_utf8(received.body).unwrap());
    }
    bodies.sort();
    assert_eq!(bodies, [r#"{"id":"evt-1"}"#, r#"{"id":"evt-2"}"#]);
});

both!(a_batch_counts_as_many_as_it_carries_against_the_rate, |world| async {
    let stub = Stub::ok().await;
    let config = batched(&stub, "rate = 3");
    let server = world.posthouse(&config).with_samples().serve().await;
    // Tried anew where a second ended between the two.
    until("a batch that uses up its second", async || {
        let keys = [0; 5].map(|_| format!("evt-{}", rand::random::<u64>()));
        let second = now();
        let (status, _) = send(&server, &keys.map(|key| event(&key))).await;
        let (after, _) = send(&server, &[event(&format!("evt-{}", rand::random::<u64>()))]).await;
        (now() == second && status == 200).then(|| assert_eq!(after, 429))
    })
    .await;
});

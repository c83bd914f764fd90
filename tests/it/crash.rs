//! The process is killed in every gap: nothing that was answered with 2xx is lost, and whatever is
//! done again can be recognised.

use crate::harness::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Short leases, so that the successor does not wait long.
const LEASES: &str = "[workers]\nlease = \"1s\"\npoll = \"50ms\"\n";

/// Jobs that are in a state, by the database itself.
async fn count(world: &World, state: &str) -> i64 {
    let query = format!("SELECT count(*) FROM jobs WHERE state = '{state}'");
    world.database.number(&query).await
}

/// The only job of the only delivery, with its attempts.
async fn only_job(server: &Server) -> Value {
    let id = server.only_delivery().await["id"].as_str().unwrap().to_owned();
    server.delivery(&id).await["jobs"][0].clone()
}

/// The outcomes of the attempts of a job.
fn outcomes(job: &Value) -> Vec<&str> {
    let attempts = job["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}

both!(killed_right_after_the_answer_the_delivery_is_there, |world| async {
    let stub = Stub::ok().await;
    let receiver = world.posthouse(&straight("github", &stub));
    let receiver = receiver.args(["serve", "--role", "receiver"]).within("receiver");
    for n in 0..5 {
        let mut server = receiver.clone().serve().await;
        let answer = server.post("github", push("one", n)).await;
        server.kill();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(count(&world, "ready").await + count(&world, "waiting").await, 5);
    let server = world.serve(&straight("github", &stub)).await;
    server.settled().await;
    let expected: Vec<String> = (0..5).map(|n| format!("one-{n}")).collect();
    assert_eq!(keys_of(&stub.received()), expected);
});

both!(killed_in_the_middle_of_a_burst_every_answered_delivery_is_processed, |world| async {
    const BURST: usize = 2000;
    let stub = Stub::ok().await;
    let mut server = world.serve(&(LEASES.to_owned() + &straight("github", &stub))).await;
    let nth = |n: usize| push(&format!("lane{}", n % 50), n).to("/hooks/github");
    let heard = Arc::new(AtomicUsize::new(0));
    let requests = (0..BURST).map(nth).collect();
    let sending = tokio::spawn(send_all(server.public(), requests, 32, heard.clone()));
    until("a third of the burst to be answered", async || {
        (heard.load(Ordering::Relaxed) >= BURST / 3).then_some(())
    })
    .await;
    server.kill();
    let answers = sending.await.unwrap();
    let mut accepted = HashSet::new();
    for answer in answers.iter().flatten() {
        assert_eq!(answer.status, 200, "{}", answer.text());
        accepted.insert(answer.json()["delivery"].as_str().unwrap().to_owned());
    }
    assert!((BURST / 3..BURST).contains(&accepted.len()), "{} were answered", accepted.len());

    server.restart().await;
    let jobs = server.settled().await;
    let done: HashSet<String> = jobs
        .iter()
        .filter(|job| job["state"] == "succeeded")
        .map(|job| job["delivery"].as_str().unwrap().to_owned())
        .collect();
    let lost: Vec<_> = accepted.difference(&done).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), accepted.len());
    assert_eq!(done.len(), jobs.len(), "and nothing is stuck");

    // The sender sends again what it has no answer to.
    let unanswered = answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
    let again: Vec<_> = unanswered.map(|(n, _)| nth(n)).collect();
    let heard = send_all(server.public(), again, 32, heard).await;
    for answer in heard {
        let answer = answer.expect("an answer").json();
        assert!(["accepted", "duplicate"].contains(&answer["status"].as_str().unwrap()));
    }
    server.settled().await;
    assert_eq!(world.database.number("SELECT count(*) FROM deliveries").await, BURST as i64);
    assert_eq!(count(&world, "succeeded").await, BURST as i64);
    // In their lanes, one at a time; only what the crash interrupted came twice.
    let keys: HashSet<String> = keys_of(&stub.received()).into_iter().collect();
    assert_eq!(keys.len(), BURST);
    for (lane, received) in by_lane(&stub.received()) {
        let order: Vec<_> = received.iter().map(|one| number(one, "posthouse-delivery")).collect();
        assert!(order.is_sorted(), "{lane}: {order:?}");
        let sequence: Vec<_> =
            received.iter().map(|one| number(one, "posthouse-sequence")).collect();
        assert!(
            sequence.windows(2).all(|two| (0..=1).contains(&(two[1] - two[0]))),
            "{sequence:?}"
        );
        assert_eq!(sequence.last(), Some(&40));
    }
    // A lane has one running job at most, so no more than one of each can be done twice.
    assert!(stub.calls() <= BURST + 50, "{} calls", stub.calls());
});

both!(killed_between_claim_and_delivery_the_job_is_taken_over, |world| async {
    let stub = Stub::ok().await;
    // A handshake that never ends: the job runs, and nothing has been delivered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = LEASES.to_owned() + &straight("github", &stub) + SOON;
    let before = config.replace(&stub.url(), &format!("https://127.0.0.1:{port}/"));
    let mut server = world.serve(&before).await;
    assert_eq!(server.post("github", push("one", 1)).await.status, 200);
    assert_eq!(server.post("github", push("one", 2)).await.status, 200);
    until("the first job to run", async || (count(&world, "running").await == 1).then_some(()))
        .await;
    server.kill();
    assert_eq!([count(&world, "running").await, count(&world, "waiting").await], [1, 1]);

    let server = world.serve(&config).await;
    let jobs = server.settled().await;
    assert_eq!(keys_of(&stub.received()), ["one-1", "one-2"]);
    assert_eq!(number(&stub.received()[0], "posthouse-attempt"), 2);
    let first = jobs.iter().find(|job| job["key"] == "one-1").unwrap();
    let first = server.get(&format!("/api/jobs/{}", first["id"].as_str().unwrap())).await;
    assert_eq!(outcomes(&first), ["uncertain", "accepted"]);
    let detail = first["attempts"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("lease ended"), "{detail}");
    assert_eq!(server.metric("posthouse_takeovers_total").await, 1.0);
    server.said("takeover").await;
});

both!(killed_between_effect_and_settle_the_repeat_can_be_recognised, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate), Answer::ok()]).await;
    let config = LEASES.to_owned() + &straight("github", &stub) + SOON;
    let mut server = world.serve(&config).await;
    assert_eq!(server.post("github", push("one", 1)).await.status, 200);
    stub.until(1).await;
    server.kill();
    assert_eq!(count(&world, "running").await, 1);
    server.restart().await;
    let calls = stub.until(2).await;
    server.settled().await;
    gate.open();
    for name in ["idempotency-key", "webhook-id", "posthouse-delivery", "posthouse-sequence"] {
        assert!(calls[0].header(name).is_some(), "{name}");
        assert_eq!(calls[0].header(name), calls[1].header(name), "{name}");
    }
    assert_eq!([0, 1].map(|call| number(&calls[call], "posthouse-attempt")), [1, 2]);
    assert_eq!(calls[0].body, calls[1].body);
    let job = only_job(&server).await;
    assert_eq!(
        (&job["state"], outcomes(&job)),
        (&json!("succeeded"), vec!["uncertain", "accepted"])
    );
    assert_eq!(stub.calls(), 2);
    assert_eq!(count(&world, "running").await, 0);
});

both!(killed_again_and_again_every_attempt_is_counted, |world| async {
    let gate = Gate::closed();
    let stub = Stub::start([Answer::ok().behind(&gate)]).await;
    let config = LEASES.to_owned() + &straight("github", &stub) + SOON + "max_attempts = 3\n";
    let mut server = world.serve(&config).await;
    assert_eq!(server.post("github", push("deadly", 1)).await.status, 200);
    assert_eq!(server.post("github", push("other", 1)).await.status, 200);
    for attempt in 1..=3 {
        // A program that kills its worker each time must not do so for ever.
        until("the deadly job to be tried", async || {
            let calls = stub.received();
            let deadly = calls.iter().filter(|call| key_of(call) == "deadly-1");
            (deadly.map(|call| number(call, "posthouse-attempt")).max() == Some(attempt))
                .then_some(())
        })
        .await;
        server.restart().await;
    }
    gate.open();
    let jobs = server.settled().await;
    let deadly = jobs.iter().find(|job| job["key"] == "deadly-1").unwrap();
    assert_eq!((&deadly["state"], &deadly["attempt_count"]), (&json!("dead"), &json!(3)));
    assert!(deadly["reason"].as_str().unwrap().contains("presumed dead"), "{deadly}");
});

both!(killed_while_it_is_read_a_request_leaves_nothing, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&straight("github", &stub)).await;
    let request = push("one", 1).to("/hooks/github");
    let bytes = request.bytes();
    let mut wire = server.wire().await;
    wire.send(&bytes[..bytes.len() - 1]).await.unwrap();
    server.restart().await;
    assert_eq!(server.deliveries("").await.len(), 0);
    let answer = server.exchange(&request).await.json();
    assert_eq!(answer["status"], "accepted");
    tokio::time::timeout(Duration::from_secs(5), server.settled()).await.expect("it is processed");
});

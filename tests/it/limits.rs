//! Limits: what is large but legal passes, what is too large is refused, and nobody else suffers.

use crate::harness::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A JSON object of so many bytes.
fn object_of(bytes: usize) -> String {
    format!("{{\"x\":\"{}\"}}", "a".repeat(bytes - 8))
}

both!(github_may_send_twenty_five_mebibytes_and_not_a_byte_more, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let most = 26_214_400;
    for (index, bytes) in [3 << 20, most].into_iter().enumerate() {
        let request = github(&format!("7d3c0076-{index}"), object_of(bytes));
        let begun = Instant::now();
        assert_eq!(server.post("github", request).await.status, 200, "{bytes} bytes");
        assert!(begun.elapsed() < Duration::from_secs(10), "{bytes}: {:?}", begun.elapsed());
        assert_eq!(stub.until(index + 1).await[index].body.len(), bytes);
    }
    server.settled().await;
    assert_eq!(server.post("github", github("7d3c0077", object_of(most + 1))).await.status, 413);
    // In chunks nobody knows the length beforehand.
    let request = github("7d3c0078", object_of(most + 1)).to("/hooks/github");
    let mut wire = server.wire().await;
    let _ = wire.send(&request.chunked(&[most / 2])).await;
    assert_eq!(wire.answer().await.unwrap().status, 413);
    assert_eq!(server.deliveries("").await.len(), 2);
    let peak = server.memory_peak();
    assert!(peak < 10 * most, "a few times the body: {peak}");
});

both!(the_limit_of_a_body_is_the_sources_own, |world| async {
    let config = logged("github").replace("provider", "body_max = \"2KiB\"\nprovider");
    let server = world.serve(&config).await;
    assert_eq!(server.post("github", github("1", object_of(2048))).await.status, 200);
    assert_eq!(server.post("github", github("2", object_of(2049))).await.status, 413);
});

both!(sixty_more_headers_pass_and_six_hundred_do_not, |world| async {
    let server = world.serve(&logged("github")).await;
    let padded = |key: &str, count: usize| {
        let pad = |request: Request, n| request.header(&format!("X-Pad-{n}"), "v");
        (0..count).fold(github(key, r#"{"n":1}"#), pad).to("/hooks/github")
    };
    assert_eq!(server.exchange(&padded("7d3c0079", 60)).await.status, 200);
    let large = github("7d3c0078", r#"{"n":2}"#).header("X-Raw", "A".repeat(262_144));
    for request in [padded("7d3c0077", 600), large.to("/hooks/github")] {
        let mut wire = server.wire().await;
        let _ = wire.send(&request.bytes()).await;
        assert_eq!(wire.answer().await.unwrap().status, 431);
        wire.rest().await.expect("the connection is closed");
    }
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(odd_bytes_in_headers_and_http_1_0_are_no_reason_to_fall_over, |world| async {
    let server = world.serve(&logged("github")).await;
    let send = async |text: &[u8]| {
        let mut wire = server.wire().await;
        wire.send(text).await.unwrap();
        wire.answer().await.unwrap().status
    };
    let latin = github("7d3c007c", r#"{"n":1}"#).header("User-Agent", b"caf\xe9\xff");
    assert_eq!(send(&latin.to("/hooks/github").bytes()).await, 200);
    let folded = b"POST /hooks/github HTTP/1.1\r\nHost: r.example.test\r\n\
        X-Hub-Signature-256: sha256=\r\n abc\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(send(folded).await, 400);
    let old = github("7d3c007d", r#"{"n":2}"#).to("/hooks/github").bytes();
    let old = String::from_utf8(old).unwrap();
    let old = old.replace("HTTP/1.1", "HTTP/1.0").replace("Host: posthouse\r\n", "");
    assert_eq!(send(old.as_bytes()).await, 200);
    let deliveries = server.deliveries("").await;
    assert_eq!(deliveries.len(), 2);
    let shown = deliveries[1]["headers"].to_string();
    assert!(shown.contains("user-agent") && shown.contains("caf"), "{shown}");
});

both!(a_tower_of_brackets_does_not_exhaust_the_stack, |world| async {
    let server = world.serve(&logged("github")).await;
    let tower = "[".repeat(20_000) + &"]".repeat(20_000);
    assert_eq!(server.post("github", github("7d3c007e", tower)).await.status, 200);
    assert_eq!(server.post("github", github("7d3c007f", r#"{"ref":"r"}"#)).await.status, 200);
    // As a repeat with other content it has to be compared, too.
    let tower = "[".repeat(20_001) + &"]".repeat(20_001);
    assert_eq!(server.post("github", github("7d3c007e", tower)).await.status, 409);
    // Where the key is in the body it is found beside the tower.
    drop(server);
    let server = world.serve(&logged("stripe")).await;
    let tower = |n| format!("{{\"x\":{}{},\"id\":\"evt_1\"}}", "[".repeat(n), "]".repeat(n));
    assert_eq!(server.post("stripe", stripe(tower(20_000))).await.status, 200);
    assert_eq!(server.post("stripe", stripe(tower(20_001))).await.status, 409);
    assert_eq!(server.post("stripe", stripe("[".repeat(20_000))).await.status, 400);
    assert_eq!(server.post("stripe", stripe(r#"{"id":"evt_2","type":"t"}"#)).await.status, 200);
});

both!(fields_of_unexpected_types_are_taken_as_absent, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let bodies = [
        r#"{"repository":{"links":{"clone":"not-an-array"}}}"#,
        r#"{"repository":null}"#,
        r#"{"repository":[1,2]}"#,
        r#"{"repository":{"id":{"id":1}},"ref":[],"action":{"x":1}}"#,
        r#"{"repository":{"id":"\u0000"},"ref":"\u0000","action":"\u0000"}"#,
        "null",
        "[]",
        "\"text\"",
        "1e999",
        "not json",
    ];
    for (index, body) in bodies.iter().enumerate() {
        let request = github(&format!("7d3c0080-{index}"), *body);
        assert_eq!(server.post("github", request).await.status, 200, "{body}");
    }
    stub.until(bodies.len()).await;
    let jobs = server.settled().await;
    assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
});

both!(slow_clients_are_cut_off_while_others_are_served, |world| async {
    let timeouts = "[server]\nheader_timeout = \"3s\"\nbody_timeout = \"3s\"\n";
    let server = world.serve(&(logged("github") + timeouts)).await;
    let head = "POST /hooks/github HTTP/1.1\r\nHost: r.example.test\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    // How each begins, and with what it goes on: never with an end.
    let clients = [
        (head.to_owned(), "X-a: b\r\n"),
        (String::new(), ""),
        (format!("{head}Content-Length: 100\r\n\r\nfirst"), "more"),
        (format!("{head}{chunked}"), "4\r\nmore\r\n"),
        // Refused at once, and not read on either.
        (format!("{head}{chunked}").replace("github", "nobody"), "4\r\nmore\r\n"),
    ];
    let begun = Arc::new(AtomicUsize::new(0));
    let mut slow = tokio::task::JoinSet::new();
    for index in 0..200 {
        let ((begin, more), to) = (clients[index % clients.len()].clone(), server.public());
        let begun = begun.clone();
        slow.spawn(async move {
            let mut wire = Wire::connect(to).await.unwrap();
            wire.send(begin.as_bytes()).await.unwrap();
            begun.fetch_add(1, Ordering::Relaxed);
            let mut feeding = tokio::time::interval(Duration::from_millis(500));
            while !wire.is_closed() && wire.send(more.as_bytes()).await.is_ok() {
                feeding.tick().await;
            }
        });
    }
    until("all to have begun", async || (begun.load(Ordering::Relaxed) == 200).then_some(())).await;
    assert!(server.open_connections() > 50, "most hold on: {}", server.open_connections());
    let posted = Instant::now();
    assert_eq!(server.post("github", github("7d3c0084", r#"{"n":1}"#)).await.status, 200);
    assert!(posted.elapsed() < Duration::from_secs(2), "{:?}", posted.elapsed());
    slow.join_all().await;
    until("all connections to be closed", async || (server.open_connections() == 0).then_some(()))
        .await;
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(beyond_its_rate_a_source_is_told_to_wait, |world| async {
    let config = logged("github").replace("provider", "rate = 5\nprovider");
    let server = world.serve(&config).await;
    let requests = (0..40).map(|index| github(&format!("7d3c0090-{index}"), "{}"));
    let requests: Vec<_> = requests.map(|request| request.to("/hooks/github")).collect();
    let answers = send_all(server.public(), requests, 4, Default::default()).await;
    let answers: Vec<Response> = answers.into_iter().flatten().collect();
    assert_eq!(answers.len(), 40);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    let accepted = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(refused.len() + accepted, 40);
    assert!(!refused.is_empty() && accepted >= 5, "{accepted} accepted");
    assert!(refused.iter().all(|answer| answer.header("retry-after").is_some()));
    assert_eq!(server.deliveries("").await.len(), accepted);
});

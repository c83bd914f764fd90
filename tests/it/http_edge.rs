//! The edge of HTTP: framing, probes, paths, handshakes and empty bodies.

use crate::harness::*;

/// Two bytes of a character on either side of a chunk's end.
const EURO: &str = r#"{"text":"€€€","n":1}"#;

both!(chunks_are_joined_before_anything_is_decoded, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let request = github("7d3c0014", EURO).to("/hooks/github");
    let mut wire = server.wire().await;
    wire.send(&request.chunked(&[10, 11])).await.unwrap();
    assert_eq!(wire.answer().await.unwrap().status, 200);
    assert_eq!(stub.until(1).await[0].body, EURO.as_bytes());
    // The connection is still good for another one.
    let again = wire.exchange(&request).await.unwrap();
    assert_eq!(again.json()["status"], "duplicate");
});

both!(a_request_with_two_lengths_is_refused_and_nothing_hides_in_it, |world| async {
    let server = world.serve(&logged("github")).await;
    let hidden = "GET /hooks/github HTTP/1.1\r\nHost: r.example.test\r\n\r\n";
    let lengths = [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 6\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ];
    for length in lengths {
        let mut wire = server.wire().await;
        let head = "POST /hooks/github HTTP/1.1\r\nHost: r.example.test\r\n";
        wire.send(format!("{head}{length}{hidden}").as_bytes()).await.unwrap();
        assert_eq!(wire.answer().await.unwrap().status, 400, "{length:?}");
        assert_eq!(wire.rest().await.unwrap(), b"", "{length:?}: one answer, then the end");
    }
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(who_waits_for_a_hundred_continue_is_told_to_go_on, |world| async {
    let server = world.serve(&logged("github")).await;
    let request = github("7d3c0015", r#"{"ok":true}"#).to("/hooks/github");
    let request = request.header("Expect", "100-continue");
    let mut wire = server.wire().await;
    let length = request.body.len().to_string();
    wire.send(&request.head(&[("Content-Length", &length)])).await.unwrap();
    assert_eq!(wire.answer().await.unwrap().status, 100);
    wire.send(&request.body).await.unwrap();
    assert_eq!(wire.answer().await.unwrap().status, 200);
});

both!(a_body_announced_as_too_large_is_refused_before_it_is_sent, |world| async {
    let server = world.serve(&logged("github")).await;
    for expect in [true, false] {
        let mut request = github("7d3c0016", "").to("/hooks/github");
        if expect {
            request = request.header("Expect", "100-continue");
        }
        let mut wire = server.wire().await;
        wire.send(&request.head(&[("Content-Length", "27262984")])).await.unwrap();
        assert_eq!(wire.answer().await.unwrap().status, 413, "nobody is invited to send it");
        assert_eq!(wire.rest().await.unwrap(), b"", "the connection is closed");
    }
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(probes_are_answered_and_never_recorded, |world| async {
    let server = world.serve(&logged("github")).await;
    for (method, status) in [
        ("HEAD", 200),
        ("GET", 200),
        ("OPTIONS", 405),
        ("PUT", 405),
        ("DELETE", 405),
        ("PATCH", 405),
    ] {
        let request = Request::new(method, "/hooks/github");
        let answer = server.exchange(&request.header("X-HTTP-Method-Override", "POST")).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, ""), "{method}");
        if status == 405 {
            assert_eq!(answer.header("allow"), Some("GET, HEAD, POST"), "{method}");
        }
    }
    for path in ["/", "/hooks", "/hooks/", "/hooks/nobody", "/api/deliveries", "/metrics"] {
        assert_eq!(server.exchange(&Request::new("GET", path)).await.status, 404, "{path}");
    }
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(slack_gets_its_challenge_back_once_it_is_proved, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("slack", &stub)).await;
    let challenge = r#"{"type":"url_verification","token":"x","challenge":"chl-mallow-7731"}"#;
    let answer = server.post("slack", slack_at(now(), challenge)).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("chl-mallow-7731"), "{}", answer.text());
    let unsigned = Request::post(r#"{"type":"url_verification","challenge":"unsigned"}"#);
    let answer = server.post("slack", unsigned.header("Content-Type", "application/json")).await;
    assert_eq!((answer.status, answer.text().as_str()), (401, ""));
    let probe = Request::post("ssl_check=1&token=x");
    let probe = probe.header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(server.post("slack", probe).await.status, 401);
    assert_eq!(server.deliveries("").await.len(), 0);
    // An event, as proof that the stub would have been called.
    let event = r#"{"type":"event_callback","event_id":"Ev_1"}"#;
    assert_eq!(server.post("slack", slack_at(now(), event)).await.status, 200);
    assert_eq!(stub.until(1).await[0].body, event.as_bytes());
});

both!(a_slash_or_a_query_at_the_end_is_not_redirected, |world| async {
    let server = world.serve(&logged("github")).await;
    let paths = ["/hooks/github", "/hooks/github/", "/hooks/github?utm=1&x=%2F"];
    for (index, path) in paths.iter().enumerate() {
        let request = github(&format!("7d3c006e-{index}"), r#"{"ref":"refs/heads/path"}"#);
        assert_eq!(server.exchange(&request.to(path)).await.status, 200, "{path}");
    }
    for path in ["//hooks/github", "/hooks//github", "/hooks/github/x", "/hooks/GitHub"] {
        let request = github("7d3c006f", r#"{"ref":"refs/heads/path"}"#);
        assert_eq!(server.exchange(&request.to(path)).await.status, 404, "{path}");
    }
    assert_eq!(server.deliveries("").await.len(), 3);
});

both!(a_ping_is_an_event_without_a_lane_of_its_own, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let body = concat!(
        r#"{"zen":"Keep it small.","hook_id":901,"#,
        r#""hook":{"type":"Repository","events":["*"]}}"#
    );
    assert_eq!(
        server.post("github", github_by(GITHUB, "7d3c0070", "ping", body)).await.status,
        200
    );
    let jobs = server.settled().await;
    assert_eq!(
        (jobs.len(), &jobs[0]["state"], &jobs[0]["kind"]),
        (1, &"succeeded".into(), &"ping".into())
    );
    assert_eq!(stub.calls(), 1);
});

both!(an_empty_body_is_a_body, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let signed = github("7d3c0071", "");
    let signature = "636903625dbd1bd8bf96fbcc2d23f53919069e790637e02aeb0de2ce3295346f";
    let signed = signed.with("X-Hub-Signature-256", format!("sha256={signature}"));
    assert_eq!(server.post("github", signed).await.status, 200);
    let unsigned = github("7d3c0072", "").without("X-Hub-Signature-256");
    assert_eq!(server.post("github", unsigned).await.status, 401);
    let received = stub.until(1).await;
    assert_eq!((received[0].method.as_str(), received[0].body.len()), ("POST", 0));
    assert_eq!(received[0].header("content-length").as_deref(), Some("0"));
    let delivery = server.only_delivery().await;
    assert_eq!(delivery["body_bytes"], 0);
    assert_eq!(server.body(delivery["id"].as_str().unwrap()).await, b"");
});

both!(requests_behind_one_another_are_answered_in_their_order, |world| async {
    let server = world.serve(&logged("github")).await;
    let requests = [
        github("7d3c0080-0", "{}"),
        github("7d3c0080-1", "{}").with("X-Hub-Signature-256", "sha256=00"),
        github("7d3c0080-2", "{}"),
    ];
    let bytes = requests.map(|request| request.to("/hooks/github").bytes()).concat();
    let mut wire = server.wire().await;
    wire.send(&bytes).await.unwrap();
    for status in [200, 401, 200] {
        assert_eq!(wire.answer().await.unwrap().status, status);
    }
});

//! The request to an HTTP destination: its headers, its signature, and where it may go.

use crate::harness::*;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use ring::hmac;
use std::net::TcpListener;
use std::time::Duration;

/// Waits for the one request to the stub.
async fn only(stub: &Stub) -> Received {
    let mut received = stub.until(1).await;
    assert_eq!(received.len(), 1);
    received.remove(0)
}

both!(a_request_says_what_it_is_and_gives_no_secret_away, |world| async {
    let stub = Stub::ok().await;
    let further = "headers = { Authorization = \"env:DESTINATION_SECRET\" }\n";
    let config = source("github") + &out(&stub) + further + &route("github", "out");
    let server = world.serve(&config).await;
    let request = push("one", 1)
        .header("X-GitHub-Hook-ID", "292430182")
        .header("X-Hub-Signature", format!("sha1={}", "0".repeat(40)))
        .header("Authorization", "Basic c2VuZGVyOnNlY3JldA==")
        .header("Proxy-Authorization", "Basic c2VuZGVyOnNlY3JldA==")
        .header("Cookie", "session=c2VuZGVy")
        .header("User-Agent", "GitHub-Hookshot/1")
        .header("Accept-Encoding", "br")
        .header("X-Forwarded-For", "203.0.113.9")
        .header("Idempotency-Key", "forged")
        .header("webhook-id", "forged")
        .header("webhook-signature", "v1,forged")
        .header("Posthouse-Attempt", "forged")
        .header("Posthouse-Replay", "forged");
    let answer = server.post("github", request.clone()).await.json();
    let received = only(&stub).await;
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/in"));
    assert_eq!(received.body, request.body);
    let user_agent = concat!("posthouse/", env!("CARGO_PKG_VERSION"));
    for (name, expected) in [
        ("content-type", "application/json"),
        ("content-length", &*request.body.len().to_string()),
        ("x-github-event", "push"),
        ("x-github-delivery", "one-1"),
        ("x-github-hook-id", "292430182"),
        ("idempotency-key", "github:one-1:github-out"),
        ("posthouse-delivery", answer["delivery"].as_str().unwrap()),
        ("posthouse-attempt", "1"),
        ("posthouse-lane", &lane_of("one")),
        ("posthouse-sequence", "1"),
        ("authorization", DESTINATION),
        ("user-agent", user_agent),
    ] {
        let values = received.headers.iter().filter(|(other, _)| other == name);
        let values: Vec<_> = values.map(|(_, value)| String::from_utf8_lossy(value)).collect();
        assert_eq!(values, [expected], "{name}");
    }
    // The id stays the same for whatever knows source and key alone.
    let expected = format!("msg_{}", &digest(b"github\0one-1")[..32]);
    assert_eq!(received.header("webhook-id"), Some(expected));
    for name in [
        "x-hub-signature-256",
        "x-hub-signature",
        "proxy-authorization",
        "cookie",
        "accept-encoding",
        "x-forwarded-for",
        "webhook-signature",
        "webhook-timestamp",
        "posthouse-replay",
        "posthouse-occurred-at",
    ] {
        assert_eq!(received.header(name), None, "{name}");
    }
});

both!(what_is_sent_is_signed_as_standard_webhooks_want_it, |world| async {
    let stub = Stub::start([Answer::status(500), Answer::ok()]).await;
    let signed = "sign_with = \"env:STANDARD_WEBHOOKS_SECRET\"\n";
    let config = source("github") + &out(&stub) + signed + &route("github", "out");
    let server = world.serve(&(config + SOON)).await;
    let begun = now();
    server.post("github", push("one", 1)).await;
    let received = stub.until(2).await;
    // By hand, as the specification tells receivers to verify.
    let key = BASE64_STANDARD_NO_PAD.decode(STANDARD.strip_prefix("whsec_").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    for one in &received {
        let id = one.header("webhook-id").unwrap();
        let time = one.header("webhook-timestamp").unwrap();
        let seconds: i64 = time.parse().unwrap();
        assert!((begun..=now()).contains(&seconds), "{begun} {seconds}");
        let signature = one.header("webhook-signature").unwrap();
        let signature = BASE64_STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
        let message = [id.as_bytes(), b".", time.as_bytes(), b".", &one.body].concat();
        hmac::verify(&key, &message, &signature).expect("it is signed");
        let other = [id.as_bytes(), b".", time.as_bytes(), b".", b"{}"].concat();
        hmac::verify(&key, &other, &signature).expect_err("it is signed for this body");
    }
    assert_eq!(received[0].header("webhook-id"), received[1].header("webhook-id"));
});

/// Spellings of places that must not be called; `PORT` is where somebody listens on loopback.
const PRIVATE: [(&str, &str); 13] = [
    ("http://169.254.169.254/latest/meta-data/", "a metadata service"),
    ("http://127.0.0.1:PORT/", "loopback"),
    ("http://localhost:PORT/", "loopback"),
    ("http://localhost.:PORT/", "loopback"),
    ("http://[::1]:PORT/", "loopback"),
    ("http://[::ffff:127.0.0.1]:PORT/", "loopback"),
    ("http://2130706433:PORT/", "loopback"),
    ("http://0x7f.1:PORT/", "loopback"),
    ("http://0177.0.0.1:PORT/", "loopback"),
    ("http://0.0.0.0:PORT/", "unspecified"),
    ("http://[fd00:ec2::254]/", "unique local"),
    ("http://[64:ff9b::7f00:1]:PORT/", "loopback"),
    ("http://10.0.0.5/", "private"),
];

both!(private_addresses_are_not_called_however_they_are_spelt, |world| async {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut config = source("github");
    for (index, (url, _)) in PRIVATE.iter().enumerate() {
        let url = url.replace("PORT", &port);
        config += &format!("[destinations.d{index}]\ntype = \"http\"\nurl = \"{url}\"\n");
    }
    for index in 0..PRIVATE.len() {
        config += &route("github", &format!("d{index}"));
    }
    let server = world.serve(&config).await;
    let answer = server.post("github", push("one", 1)).await.json();
    server.settled().await;
    let shown = server.delivery(answer["delivery"].as_str().unwrap()).await;
    for (index, (url, range)) in PRIVATE.iter().enumerate() {
        let job = &shown["jobs"][index];
        assert_eq!(job["route"], format!("github-d{index}"));
        assert_eq!((&job["state"], &job["attempt_count"]), (&"dead".into(), &1.into()), "{url}");
        let reason = job["reason"].as_str().unwrap();
        let expected = format!("is {range}; set allow_private = true");
        assert!(reason.contains(&expected), "{url}: {reason}");
    }
    let connected = listener.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(connected, Err(std::io::ErrorKind::WouldBlock), "nobody has called");
    // The listener does hear whoever calls.
    let calling = format!("http://127.0.0.1:{port}/");
    let allowed = source("github")
        + &format!(
            "[destinations.out]\ntype = \"http\"\nurl = {calling:?}\nallow_private = true\n"
        )
        + &route("github", "out");
    drop(server);
    let server = world.serve(&allowed).await;
    server.post("github", push("two", 2)).await;
    until("somebody to call", async || listener.accept().ok()).await;
});

both!(urls_of_other_kinds_are_refused_by_the_configuration, |world| async {
    let refused = [
        ("http://user:pw@127.0.0.1/", "no user name and password"),
        ("file:///etc/passwd", "http:// or https://"),
        ("gopher://127.0.0.1:6379/_x", "http:// or https://"),
        ("http://admin.internal#@hooks.example.test/", "no fragment"),
    ];
    for (url, expected) in refused {
        let config = source("github")
            + &format!("[destinations.out]\ntype = \"http\"\nurl = \"{url}\"\n")
            + &route("github", "out");
        let ran = world.posthouse(&config).args(["check"]).run().await;
        let said = ran.output + &ran.errors;
        assert_eq!(ran.code, Some(2), "{url}: {said}");
        assert!(said.contains("destinations.out.url") && said.contains(expected), "{said}");
    }
});

both!(a_slow_handshake_is_no_request, |world| async {
    // It takes connections and never says anything: TLS does not come about.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = source("github")
        + &format!("[destinations.out]\ntype = \"http\"\nurl = \"https://127.0.0.1:{port}/\"\n")
        + "allow_private = true\nconnect_timeout = \"200ms\"\n"
        + &route("github", "out");
    let server = world.serve(&(config + SOON + "max_attempts = 2\n")).await;
    let answer = server.post("github", push("one", 1)).await.json();
    server.settled().await;
    let shown = server.delivery(answer["delivery"].as_str().unwrap()).await;
    let job = &shown["jobs"][0];
    assert_eq!((&job["state"], &job["attempt_count"]), (&"dead".into(), &2.into()));
    for attempt in job["attempts"].as_array().unwrap() {
        assert_eq!(attempt["outcome"], "unreached", "nothing was sent: {attempt}");
        assert_eq!(attempt["detail"], format!("no connection within {} ms", 200));
    }
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut bytes);
    assert_eq!(bytes.first(), Some(&0x16), "the start of a handshake");
    assert!(!bytes.windows(3).any(|three| three == b"n\":"), "and no body");
});

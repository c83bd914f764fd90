//! The client against stubs on 127.0.0.1: what it sends, how often, and what it makes of answers.

use super::*;
use crate::deliver::sample;
use crate::deliver::stub::{Answer, OK, Stub};
use providers::Secret;
use std::collections::BTreeMap;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

fn settings(url: Url) -> HttpDestination {
    let s = Duration::from_secs;
    let headers = BTreeMap::new();
    let (connect_timeout, timeout) = (s(5), s(20));
    let (allow_private, sign_with) = (true, None);
    HttpDestination {
        url,
        headers,
        connect_timeout,
        timeout,
        allow_private,
        sign_with,
        accept: None,
    }
}

async fn send(http: &Http) -> Outcome {
    let lease = sample::lease(b"{\"n\":1}");
    let body = lease.delivery.body.clone().unwrap();
    http.deliver(&lease, &body, 0).await
}

async fn send_to(url: &str) -> Outcome {
    send(&Http::new(&settings(Url::parse(url).unwrap())).unwrap()).await
}

#[tokio::test]
async fn the_request_carries_the_body_and_its_answer_is_kept_without_secrets() {
    let (stub, url) = Stub::start([Answer::Echo]).await;
    let mut settings = settings(url);
    let secret = Secret::new("Bearer dest-secret-9").unwrap();
    settings.headers.insert("Authorization".into(), secret);
    let outcome = send(&Http::new(&settings).unwrap()).await;
    assert_eq!((outcome.class, outcome.status), (Class::Accepted, Some(200)));
    let request = stub.requests.lock().unwrap().remove(0);
    assert!(request.starts_with("POST /in?q=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"n\":1}"), "{request}");
    for line in ["authorization: Bearer dest-secret-9", "content-type: application/json"] {
        assert!(request.contains(line), "{line} is not in {request}");
    }
    assert!(!request.contains("accept-encoding"), "{request}");
    let excerpt = String::from_utf8(outcome.excerpt).unwrap();
    assert_eq!(excerpt, request.replace("Bearer dest-secret-9", &"*".repeat(20)));
}

#[tokio::test]
async fn an_attempt_that_is_cut_off_is_unknown_and_one_request_only() {
    let answers = [OK, Answer::Reset, Answer::Fin, Answer::Text("nonsense\r\n\r\n"), OK];
    let (stub, url) = Stub::start(answers).await;
    let http = Http::new(&settings(url)).unwrap();
    let expected =
        [Class::Accepted, Class::Uncertain, Class::Uncertain, Class::Uncertain, Class::Accepted];
    for (sent, class) in (1..).zip(expected) {
        let outcome = send(&http).await;
        assert_eq!(outcome.class, class, "{}", outcome.detail);
        assert_eq!(stub.requests.lock().unwrap().len(), sent);
        if class == Class::Uncertain {
            let start = "connection closed before an answer, outcome unknown: ";
            assert!(outcome.detail.starts_with(start), "{}", outcome.detail);
            assert!(!outcome.detail.contains("q=1"), "{}", outcome.detail);
        }
    }
    // The first connection served two requests, the second of which was reset on it.
    assert_eq!(*stub.connections.lock().unwrap(), 4);
}

#[tokio::test]
async fn a_late_answer_is_unknown() {
    let (_stub, url) = Stub::start([Answer::Silence]).await;
    let mut settings = settings(url);
    settings.timeout = Duration::from_secs(1);
    let http = Http::new(&settings).unwrap();
    let outcome =
        tokio::time::timeout(Duration::from_secs(4), send(&http)).await.expect("no limit");
    assert_eq!(outcome, Outcome::new(Class::Uncertain, "timeout after 1000 ms, outcome unknown"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let redirect = "HTTP/1.1 301 Moved\r\nLocation: /login?next=in\r\nContent-Length: 0\r\n\r\n";
    let (stub, url) = Stub::start([Answer::Text(redirect), OK]).await;
    let outcome = send_to(url.as_str()).await;
    assert_eq!((outcome.class, outcome.status), (Class::Refused, Some(301)));
    let origin = url.origin().ascii_serialization();
    assert_eq!(outcome.detail, format!("redirect 301 to {origin}/login"));
    assert_eq!(stub.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let (_stub, url) = Stub::start([Answer::Endless("5\r\nboom \r\n")]).await;
    let outcome = send_to(url.as_str()).await;
    assert_eq!((outcome.class, outcome.status), (Class::Failed, Some(500)));
    assert_eq!(outcome.excerpt.len(), EXCERPT_BYTES_MAX);
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = send_to(&format!("http://{free}/?q=1")).await;
    // Too long for a name, so no name server is asked.
    let no_name = send_to(&format!("http://{}.test/?q=1", "x".repeat(64))).await;
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/?q=1", plain.local_addr().unwrap());
    let (no_tls, _connection) = tokio::join!(send_to(&url), async {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    });
    for (outcome, start) in [
        (refused, "connection refused: "),
        (no_name, "DNS lookup failed: "),
        (no_tls, "TLS handshake failed: "),
    ] {
        assert_eq!(outcome.class, Class::Unreached);
        assert!(outcome.detail.starts_with(start), "{}", outcome.detail);
        assert!(!outcome.detail.contains("q=1"), "{}", outcome.detail);
    }
}

#[tokio::test]
async fn a_slow_handshake_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut settings = settings(Url::parse(&url).unwrap());
    settings.timeout = Duration::from_millis(500);
    let outcome = send(&Http::new(&settings).unwrap()).await;
    assert_eq!(outcome, Outcome::new(Class::Unreached, "no connection within 450 ms"));
}

#[tokio::test]
async fn private_addresses_are_refused_however_they_are_spelled() {
    let (stub, url) = Stub::start([]).await;
    let port = url.port().unwrap();
    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "a.LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0.0.0.0",
        "[fd00:ec2::254]",
        "[64:ff9b::7f00:1]",
        "10.0.0.5",
        "169.254.169.254",
    ] {
        let mut settings = settings(Url::parse(&format!("http://{host}:{port}/x?q=1")).unwrap());
        settings.allow_private = false;
        let outcome = send(&Http::new(&settings).unwrap()).await;
        assert_eq!(outcome.class, Class::Refused, "{host}: {}", outcome.detail);
        assert!(outcome.detail.contains("set allow_private = true"), "{}", outcome.detail);
    }
    assert_eq!(*stub.connections.lock().unwrap(), 0);
}

#[test]
fn unusable_urls_are_found_before_anything_is_sent() {
    for url in [
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "http://me@host/",
        "http://:hunter2@host/",
    ] {
        let fault = Http::new(&settings(Url::parse(url).unwrap())).err().unwrap();
        assert!(fault.starts_with("url: ") && !fault.contains("hunter2"), "{fault}");
    }
}

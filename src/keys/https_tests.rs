//! The fetcher against servers on 127.0.0.1.

use super::cache::Fetch;
use super::*;
use crate::deliver::stub::{Answer, OK, Stub};
use std::time::Duration;

/// What comes of one fetch; the request's line.
async fn fetch(answer: Answer, is_named: bool) -> (Result<Bytes, Unfetched>, String) {
    let (stub, url) = Stub::start([answer]).await;
    let mut https = Https::new(Duration::from_millis(500));
    https.is_lenient = true;
    let (post, name, realm) = (None, String::new(), "");
    let fetched = https.fetch(&Place { url, post, name, realm, is_named }).await;
    let requests = stub.requests.lock().unwrap();
    assert_eq!(requests.len(), 1, "asked once, and nowhere else: {fetched:?}");
    (fetched, requests[0].lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_text_is_fetched_whole() {
    let (fetched, line) = fetch(OK, true).await;
    assert_eq!(fetched.unwrap(), "done");
    assert_eq!(line, "GET /in?q=1 HTTP/1.1");
}

#[tokio::test]
async fn what_is_not_there_is_a_forgery_and_what_is_out_of_order_is_not() {
    let of = |line: &str| {
        let text = format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
        Answer::Text(Box::leak(text.into_boxed_str()))
    };
    for line in ["404 Not Found", "400 Bad Request", "302 Found\r\nLocation: /in"] {
        let (fetched, _) = fetch(of(line), true).await;
        assert!(matches!(fetched, Err(Unfetched::Forged(_))), "{line}: {fetched:?}");
    }
    for line in ["500 Oops", "503 Busy", "401 Unauthorized", "429 Slow"] {
        let (fetched, _) = fetch(of(line), true).await;
        assert!(matches!(fetched, Err(Unfetched::Failed(_))), "{line}: {fetched:?}");
    }
    // A list that has moved is not the forger's doing.
    let (fetched, _) = fetch(of("302 Found\r\nLocation: /in"), false).await;
    assert!(matches!(fetched, Err(Unfetched::Failed(_))), "{fetched:?}");
}

#[tokio::test]
async fn nothing_longer_than_a_key_is_read_and_nobody_is_waited_for_long() {
    let of = |bytes: usize| {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
        Answer::Text(Box::leak((text + &"k".repeat(bytes)).into_boxed_str()))
    };
    assert_eq!(fetch(of(64 << 10), true).await.0.unwrap().len(), 64 << 10);
    let (fetched, _) = fetch(of((64 << 10) + 1), true).await;
    assert!(matches!(fetched, Err(Unfetched::Forged(_))), "{fetched:?}");
    for answer in [Answer::Silence, Answer::Fin, Answer::Reset] {
        let (fetched, _) = fetch(answer, true).await;
        assert!(matches!(fetched, Err(Unfetched::Failed(_))), "{fetched:?}");
    }
}

#[tokio::test]
async fn no_private_address_and_no_plain_http_is_ever_asked() {
    let (stub, url) = Stub::start([OK]).await;
    let https = Https::new(Duration::from_secs(5));
    let port = url.port().unwrap();
    for url in [url.to_string(), format!("https://localhost:{port}/")] {
        let (post, name, realm, is_named) = (None, String::new(), "", true);
        let url = Url::parse(&url).unwrap();
        let fetched = https.fetch(&Place { url, post, name, realm, is_named }).await;
        assert!(matches!(fetched, Err(Unfetched::Failed(_))), "{fetched:?}");
    }
    assert_eq!(*stub.connections.lock().unwrap(), 0);
}

//! What is visited, how often, and what is made of the answers.

use super::visit::{Visited, place};
use super::*;
use crate::deliver::stub::{Answer, OK, Stub};
use providers::Visit;

const SECOND_US: Micros = 1_000_000;
const HOUR_US: Micros = 3600 * SECOND_US;

/// Visits a stub at these times. It has no certificate and a private address, which only here does
/// not matter.
async fn visited(answers: Vec<Answer>, times: &[Micros]) -> (Vec<Visited>, usize, String) {
    let (stub, url) = Stub::start(answers).await;
    let settings = RemoteKeys {
        fetch: false,
        timeout: std::time::Duration::from_millis(500),
        max_age: std::time::Duration::from_secs(60),
    };
    let metrics = Arc::new(Metrics::new().unwrap());
    let mut remote = Remote::new(&settings, metrics.clone());
    remote.visits.fetch.is_lenient = true;
    let (name, realm) = (url.to_string(), "stub");
    let place = Place { post: None, name, realm, is_named: true, url };
    let mut all = Vec::new();
    for now_us in times {
        all.push(remote.visit_place(&place, *now_us).await);
    }
    let requests = stub.requests.lock().unwrap().len();
    (all, requests, metrics.text().unwrap())
}

#[tokio::test]
async fn a_link_is_visited_once_however_often_it_is_asked_for() {
    let times = [0, 1, 30 * HOUR_US];
    let (all, requests, metrics) = visited(vec![OK], &times).await;
    assert_eq!(all, [Visited::Now, Visited::Before, Visited::Before]);
    assert_eq!(requests, 1);
    assert!(metrics.contains("posthouse_visits_total{outcome=\"done\"} 1"), "{metrics}");
    assert!(!metrics.contains("posthouse_key_fetches_total"), "{metrics}");
}

#[tokio::test]
async fn a_visit_that_failed_is_made_again_when_the_sender_asks_again() {
    let busy = Answer::Text("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    let times = [0, SECOND_US, 20 * SECOND_US, 21 * SECOND_US];
    let (all, requests, metrics) = visited(vec![busy, OK], &times).await;
    let failed = Visited::Failed("it answered 503".into());
    assert_eq!(all, [failed.clone(), failed, Visited::Now, Visited::Before]);
    assert_eq!(requests, 2, "nobody is asked twice a second");
    assert!(metrics.contains("posthouse_visits_total{outcome=\"failed\"} 1"), "{metrics}");
}

#[tokio::test]
async fn no_redirect_is_followed_and_what_is_gone_is_not_asked_for_again() {
    for line in ["302 Found\r\nLocation: /in", "404 Not Found", "400 Bad Request"] {
        let text = format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
        let answer = Answer::Text(Box::leak(text.into_boxed_str()));
        let (all, requests, _) = visited(vec![answer], &[0, 20 * SECOND_US]).await;
        assert!(all.iter().all(|one| matches!(one, Visited::Refused(_))), "{line}: {all:?}");
        assert_eq!(requests, 1, "{line}");
    }
}

#[test]
fn only_https_of_the_senders_own_hosts_is_visited() {
    let good = |url: &str| {
        let hosts: &[&str] = &["sns.*.amazonaws.com"];
        place(&Visit { url: url.to_owned(), hosts }).is_some()
    };
    let query = "Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:1:a.fifo&Token=23";
    assert!(good(&format!("https://sns.eu-west-1.amazonaws.com/?{query}")));
    for url in [
        "http://sns.eu-west-1.amazonaws.com/",
        "https://sns.eu-west-1.amazonaws.com.evil.test/",
        "https://sns.eu-west-1.amazonaws.com:8443/",
        "https://sns.eu-west-1.amazonaws.com@evil.test/",
        "https://u:p@sns.eu-west-1.amazonaws.com/",
        "https://evil.test/?sns.eu-west-1.amazonaws.com",
        "https://evil.test\\.amazonaws.com/",
        "https://s3.eu-west-1.amazonaws.com/",
        "https://169.254.169.254/latest",
        "file:///etc/passwd",
    ] {
        assert!(!good(url), "{url}");
    }
}

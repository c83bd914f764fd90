//! What is asked, how often, and what is remembered of it.

use super::cache::{
    AGAIN_US, Cache, FAILED_US, FETCHES_A_MINUTE, Fetch, KEYS, MISSING_US, SLOTS_MAX,
};
use super::*;
use std::sync::Mutex;
use std::time::Duration;

/// Answers from a function, and keeps what it was asked.
struct Acting<F>(F, Mutex<Vec<String>>);

impl<F: Fn(&str) -> Result<&'static str, Unfetched> + Send + Sync> Fetch for Acting<F> {
    async fn fetch(&self, place: &Place) -> Result<Bytes, Unfetched> {
        self.1.lock().unwrap().push(place.name.clone());
        // Long enough for all others to come and wait.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        (self.0)(&place.name).map(|text| Bytes::from_static(text.as_bytes()))
    }
}

const HOUR_US: Micros = 3_600_000_000;
const HOSTS: &[&str] = &["*.keys.test"];

fn cache<F: Fn(&str) -> Result<&'static str, Unfetched> + Send + Sync>(act: F) -> Cache<Acting<F>> {
    let metrics = Arc::new(Metrics::new().unwrap());
    Cache::new(Acting(act, Mutex::default()), Duration::from_secs(3600), KEYS, metrics)
}

fn asked<F>(cache: &Cache<Acting<F>>) -> usize {
    cache.fetch.1.lock().unwrap().len()
}

fn document(path: &str) -> Place {
    let url = format!("https://a.keys.test/{path}");
    place(&KeyWanted::Document { url, hosts: HOSTS }).unwrap()
}

fn listed(id: &str) -> Place {
    let (endpoint, id) = ("https://keys.test/list", id.to_owned());
    place(&KeyWanted::Listed { endpoint, id, post: None }).unwrap()
}

fn not_there() -> Unfetched {
    Unfetched::Forged("where it is said to be is nothing".into())
}

fn is_forged<T>(answer: Result<T, Unfetched>) -> bool {
    matches!(answer, Err(Unfetched::Forged(_)))
}

#[test]
fn only_https_of_the_senders_hosts_is_asked() {
    let good = |url: &str| {
        let url = url.to_owned();
        place(&KeyWanted::Document { url, hosts: &["*.keys.test", "one.test"] }).is_ok()
    };
    assert!(good("https://a.keys.test/x.pem?v=1") && good("https://one.test/"));
    for url in [
        "http://a.keys.test/x",
        "https://keys.test/x",
        "https://akeys.test/x",
        "https://a.b.keys.test/x",
        "https://a.keys.test.evil.test/x",
        "https://evil.test/?.keys.test",
        "https://a.keys.test@evil.test/x",
        "https://u:p@a.keys.test/x",
        "https://a.keys.test:8443/x",
        "https://a.one.test/",
        "https://127.0.0.1/",
        "file:///etc/passwd",
        "x",
    ] {
        assert!(!good(url), "{url}");
    }
}

#[test]
fn every_label_that_a_sender_leaves_open_is_one_label() {
    let hosts: &[&str] = &["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn"];
    let good = |host: &str| {
        place(&KeyWanted::Document { url: format!("https://{host}/x.pem"), hosts }).is_ok()
    };
    assert!(good("sns.eu-west-1.amazonaws.com") && good("sns.cn-north-1.amazonaws.com.cn"));
    for host in ["sns.amazonaws.com", "a.sns.x.amazonaws.com", "sns.a.b.amazonaws.com"] {
        assert!(!good(host), "{host}");
    }
}

#[tokio::test]
async fn whoever_wants_a_key_that_is_being_fetched_waits_for_it() {
    let cache = cache(|_| Ok("text"));
    let here = document("x");
    let all = futures_util::future::join_all((0..50).map(|_| cache.get(&here, None, 1))).await;
    assert!(all.iter().all(|found| found.as_ref().unwrap().text == "text"));
    assert_eq!(asked(&cache), 1);
}

#[tokio::test]
async fn a_key_is_remembered_for_its_age_and_then_asked_for_again() {
    let cache = cache(|_| Ok("text"));
    for (now_us, times) in [(0, 1), (HOUR_US - 1, 1), (HOUR_US, 2), (HOUR_US + 5, 2)] {
        cache.get(&document("x"), None, now_us).await.unwrap();
        assert_eq!(asked(&cache), times, "at {now_us}");
    }
}

#[tokio::test]
async fn forged_ids_of_a_list_cost_a_fetch_a_minute_at_most() {
    let cache = cache(|_| Ok("known key"));
    let list = cache.get(&listed("known"), None, 0).await.unwrap();
    for n in 0..1000 {
        let place = listed(&format!("forged-{n}"));
        let known = cache.get(&place, None, AGAIN_US - 1).await.unwrap();
        assert!(is_forged(cache.get(&place, Some(&known), AGAIN_US - 1).await));
    }
    assert_eq!(asked(&cache), 1);
    // Later the list may have grown; if it has not, the answer is the same.
    assert!(is_forged(cache.get(&listed("new"), Some(&list), AGAIN_US).await));
    assert_eq!(asked(&cache), 2);
    let again = cache.get(&listed("new"), None, AGAIN_US + 1).await.unwrap();
    assert!(is_forged(cache.get(&listed("new"), Some(&again), AGAIN_US + 1).await));
    assert_eq!(asked(&cache), 2);
}

#[tokio::test]
async fn a_list_that_has_grown_is_read_anew() {
    let lists = Mutex::new(vec!["old new", "old"]);
    let cache = cache(move |_| Ok(lists.lock().unwrap().pop().unwrap()));
    let old = cache.get(&listed("new"), None, 0).await.unwrap();
    let new = cache.get(&listed("new"), Some(&old), AGAIN_US).await.unwrap();
    assert_eq!(new.text, "old new");
}

#[tokio::test]
async fn documents_that_are_not_there_are_remembered_and_no_flood_of_them_is_fetched() {
    let cache = cache(|name| if name.ends_with("good") { Ok("text") } else { Err(not_there()) });
    let good = document("good");
    cache.get(&good, None, 0).await.unwrap();
    for _ in 0..2 {
        assert!(is_forged(cache.get(&document("bad"), None, MISSING_US - 1).await));
    }
    assert_eq!(asked(&cache), 2);
    assert!(is_forged(cache.get(&document("bad"), None, 2 * MISSING_US).await));
    assert_eq!(asked(&cache), 3);
    for n in 0..2 * SLOTS_MAX {
        let _ = cache.get(&document(&format!("bad-{n}")), None, 4 * MISSING_US).await;
    }
    assert_eq!(asked(&cache), 3 + FETCHES_A_MINUTE as usize);
    cache.get(&good, None, 4 * MISSING_US).await.unwrap();
    assert_eq!(asked(&cache), 3 + FETCHES_A_MINUTE as usize, "the good one is still known");
}

#[tokio::test]
async fn what_does_not_answer_is_left_alone_for_a_while() {
    let cache = cache(|_| Err(Unfetched::Failed("down".into())));
    let down = Err(Unfetched::Failed("down".into()));
    for (now_us, times) in [(0, 1), (FAILED_US - 1, 1), (FAILED_US, 2)] {
        assert_eq!(cache.get(&document("x"), None, now_us).await, down);
        assert_eq!(asked(&cache), times, "at {now_us}");
    }
}

//! Keys that senders keep elsewhere: pinned ones need no network, forged ones cause no fetch, and
//! what cannot be had is our fault and not the sender's.

use crate::harness::*;

const DOCUMENT: &str = "https://a.keys.test/one.pem";
const LIST: &str = "https://localhost/list";
const FAILED: &str = "posthouse_key_fetches_total{outcome=\"failed\"}";

/// A source of the samples' with pinned keys. Its own secret signs nothing here.
fn keyed(world: &World, pinned: &[(&str, &str)], more: &str) -> String {
    let pins: Vec<String> = pinned
        .iter()
        .enumerate()
        .map(|(n, (url, text))| {
            let file = format!("file:{}", world.file(&format!("key-{n}"), text));
            format!("{url:?} = {file:?}")
        })
        .collect();
    named_source("sample", "github")
        + &format!("keys = {{ {} }}\n", pins.join(", "))
        + "[destinations.log]\ntype = \"log\"\n"
        + more
        + &route("sample", "log")
}

/// An event that is signed with a key.
fn event(key: &str, id: &str) -> Request {
    github_by(key, "unused", "push", format!("{{\"id\":{id:?}}}"))
}

both!(pinned_keys_prove_without_any_fetch, |world| async {
    let list = "old key-of-old\nnew key-of-new\n";
    let one = format!("{LIST}#single");
    let pinned = [(DOCUMENT, "key-of-one"), (LIST, list), (&one, "single key-of-single")];
    let config = keyed(&world, &pinned, "[keys]\nfetch = false\n");
    let server = world.posthouse(&config).with_samples().serve().await;
    let post = async |request: Request| server.post("sample", request).await.status;
    let document = |key, id| event(key, id).header("X-Key-Url", DOCUMENT);
    assert_eq!(post(document("key-of-one", "evt-1")).await, 200);
    assert_eq!(post(document("guessed", "evt-2")).await, 401);
    assert_eq!(post(document(GITHUB, "evt-3")).await, 401, "the secret is not the key");
    for (id, key) in [("old", "key-of-old"), ("new", "key-of-new"), ("single", "key-of-single")] {
        let request = event(key, &format!("evt-{id}")).header("X-Key-Id", id);
        assert_eq!(post(request).await, 200, "{id}");
    }
    let forged = event("key-of-old", "evt-4").header("X-Key-Id", "forged");
    assert_eq!(post(forged).await, 401, "the pinned list does not have it");
    server.said("the pinned list has no such key").await;
    let elsewhere = event("x", "evt-5").header("X-Key-Url", "https://b.keys.test/two.pem");
    assert_eq!(post(elsewhere).await, 503, "it may be genuine");
    server.said("is not pinned, and keys.fetch is off").await;
    let rejected = "posthouse_rejected_total{reason=\"key_missing\",source=\"sample\"}";
    assert_eq!(server.metric(rejected).await, 1.0);
    assert!(!server.metrics().await.contains("posthouse_key_fetches_total"));
    assert_eq!(server.deliveries("").await.len(), 4);
});

both!(a_url_that_is_not_the_senders_is_forged_and_never_asked, |world| async {
    let server = world.posthouse(&keyed(&world, &[], "")).with_samples().serve().await;
    for url in [
        "http://a.keys.test/one.pem",
        "https://keys.test/one.pem",
        "https://a.keys.test.evil.test/one.pem",
        "https://evil.test/one.pem",
        "https://a.keys.test:8443/one.pem",
        "https://user@a.keys.test/one.pem",
        "https://169.254.169.254/latest",
    ] {
        let answer = server.post("sample", event("x", "evt-1").header("X-Key-Url", url)).await;
        assert_eq!((answer.status, answer.text().as_str()), (401, ""), "{url}");
    }
    assert!(!server.metrics().await.contains("posthouse_key_fetches_total"));
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(a_key_that_cannot_be_had_is_our_fault_and_a_flood_asks_for_it_once, |world| async {
    let server = world.posthouse(&keyed(&world, &[], "")).with_samples().serve().await;
    // The sender's host is allowed, and what it resolves to is a private address.
    let flood = (0..30).map(|n| {
        let request = event("x", "evt-1").header("X-Key-Id", format!("forged-{n}"));
        (server.public(), request.to("/hooks/sample"))
    });
    for answer in at_once(flood.collect()).await {
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    }
    assert_eq!(server.metric(FAILED).await, 1.0, "thirty wanted it, and it was asked for once");
    server.said("a sender's key could not be fetched").await;
    // Who needs no key does not suffer.
    assert_eq!(server.post("sample", event(GITHUB, "evt-2")).await.status, 200);
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(a_pinned_key_under_no_https_url_is_a_fault, |world| async {
    let config = keyed(&world, &[("http://a.keys.test/one.pem", "key")], "");
    let ran = world.posthouse(&config).args(["check"]).run().await;
    assert_eq!(ran.code, Some(2));
    assert!(ran.errors.contains("is not under an https URL"), "{}", ran.errors);
});

both!(what_the_senders_key_did_not_sign_is_called_a_forgery, |world| async {
    let config = keyed(&world, &[(DOCUMENT, "key-of-one")], "");
    let server = world.posthouse(&config).with_samples().serve().await;
    let cause = async |reason: &str| {
        until(&format!("the cause of {reason}"), async || {
            let page = server.get("/api/quarantine").await;
            let items = page["items"].as_array().unwrap().clone();
            let one = items.into_iter().find(|one| one["reason"] == reason)?;
            one["cause"].as_str().map(str::to_owned)
        })
        .await
    };
    let forged = event("guessed", "evt-1").header("X-Key-Url", DOCUMENT);
    assert_eq!(server.post("sample", forged).await.status, 401);
    assert_eq!(cause("signature").await, "forged");
    let elsewhere = event("x", "evt-2").header("X-Key-Url", "https://evil.test/one.pem");
    assert_eq!(server.post("sample", elsewhere).await.status, 401);
    assert_eq!(cause("key_missing").await, "key_missing");
});

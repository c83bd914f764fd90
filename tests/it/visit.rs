//! Links that a sender wants visited: only of what is proved, only its own hosts, and a sender that
//! could not be helped is told to ask again.

use crate::harness::*;
use serde_json::{Value, json};

const ELSEWHERE: &str = "posthouse_visits_total{outcome=\"refused\"}";
const FAILED: &str = "posthouse_visits_total{outcome=\"failed\"}";
const UNCONFIRMED: &str = "posthouse_rejected_total{reason=\"unconfirmed\",source=\"sample\"}";

/// A source of Amazon SNS whose certificate is pinned. Further keys may be given.
fn subscribed(world: &World, keys: &str) -> String {
    let certificate = format!("file:{}", world.file("certificate.pem", CERTIFICATE));
    let topic = format!("file:{}", world.file("topic", TOPIC));
    format!("[sources.sns]\nprovider = \"aws_sns\"\nsecrets = [{topic:?}]\n{keys}\n")
        + &format!("keys = {{ {CERTIFICATE_URL:?} = {certificate:?} }}\n")
        + "[keys]\nfetch = false\n[destinations.log]\ntype = \"log\"\n"
        + &route("sns", "log")
}

/// What a request to confirm has besides.
fn link(to: &str) -> Value {
    json!({ "Token": "token-of-sns-7", "SubscribeURL": format!("{to}/?Token=token-of-sns-7") })
}

both!(a_link_that_is_not_the_senders_is_never_visited_however_well_it_is_signed, |world| async {
    let stub = Stub::ok().await;
    let mut server = world.serve(&subscribed(&world, "")).await;
    let stranger = stub.url().replace("http:", "https:");
    for (id, to) in [
        ("m-1", stub.url().as_str()),
        ("m-2", &stranger),
        ("m-3", "https://sns.eu-west-1.amazonaws.com.evil.test"),
        ("m-4", "https://localhost"),
    ] {
        let request = sns(id, "SubscriptionConfirmation", link(to));
        let answer = server.post("sns", request).await;
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("accepted")));
    }
    assert_eq!(server.metric(ELSEWHERE).await, 4.0);
    server.said("a subscription cannot be confirmed by its link").await;
    assert_eq!(stub.calls(), 0);
    assert_eq!(server.deliveries("").await.len(), 4, "they can be looked at");
    server.stop().await;
    assert!(!server.errors().contains("token-of-sns-7"), "{}", server.errors());
});

both!(what_is_forged_or_asks_for_no_visit_visits_nothing, |world| async {
    let server = world.serve(&subscribed(&world, "")).await;
    let none = async || !server.metrics().await.contains("posthouse_visits_total");
    let good = sns("m-1", "SubscriptionConfirmation", link("https://localhost"));
    let text = String::from_utf8(good.body.clone()).unwrap();
    for (from, to) in [
        ("https://localhost", "https://127.0.0.1"),
        ("orders", "other"),
        ("\"Signature\":\"", "\"Signature\":\"AAAA"),
    ] {
        let forged = Request { body: text.replace(from, to).into(), ..good.clone() };
        assert_eq!(server.post("sns", forged).await.status, 401, "{to}");
    }
    assert!(none().await, "nothing is visited before it is proved");
    assert_eq!(server.deliveries("").await.len(), 0);
    // That link would subscribe again.
    let leaving = sns("m-2", "UnsubscribeConfirmation", link("https://localhost"));
    assert_eq!(server.post("sns", leaving).await.status, 200);
    assert_eq!(server.post("sns", sns("m-3", "Notification", json!({}))).await.status, 200);
    assert!(none().await);
    assert_eq!(server.deliveries("").await.len(), 2);
    assert_eq!(server.post("sns", good).await.status, 200);
    assert_eq!(server.metric(ELSEWHERE).await, 1.0, "the genuine one is looked at");
});

both!(an_operator_may_confirm_by_hand, |world| async {
    let server = world.serve(&subscribed(&world, "confirm = false")).await;
    let request = sns("m-1", "SubscriptionConfirmation", link("https://localhost"));
    assert_eq!(server.post("sns", request).await.status, 200);
    server.said("a subscription waits to be confirmed by hand").await;
    assert!(!server.metrics().await.contains("posthouse_visits_total"));
    let delivery = server.only_delivery().await;
    let body = server.body(delivery["id"].as_str().unwrap()).await;
    assert!(String::from_utf8_lossy(&body).contains("token-of-sns-7"), "the link is there");
});

both!(a_sender_that_could_not_be_helped_is_told_to_ask_again, |world| async {
    let config = named_source("sample", "github")
        + "[destinations.log]\ntype = \"log\"\n"
        + &route("sample", "log");
    let server = world.posthouse(&config).with_samples().serve().await;
    // The host is the sender's, and what it resolves to is a private address.
    let request =
        github("unused", "{\"id\":\"evt-1\"}").header("X-Visit", "https://localhost/?t=1");
    let answer = server.post("sample", request.clone()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    assert_eq!(server.metric(FAILED).await, 1.0);
    server.said("a link that a sender wants visited could not be").await;
    // Asked for again at once, it is not tried again at once, and nothing is recorded twice.
    assert_eq!(server.post("sample", request.clone()).await.status, 503);
    assert_eq!((server.metric(FAILED).await, server.metric(UNCONFIRMED).await), (1.0, 2.0));
    assert_eq!(server.deliveries("").await.len(), 1, "it is recorded, though");
    let other = github("unused", "{\"id\":\"evt-1\",\"n\":2}");
    let other = other.header("X-Visit", "https://localhost/?t=2");
    assert_eq!(server.post("sample", other).await.status, 409);
    assert_eq!(server.metric(FAILED).await, 1.0, "what stands is another request");
    let plain = github("unused", "{\"id\":\"evt-2\"}");
    assert_eq!(server.post("sample", plain).await.status, 200);
});

both!(what_is_promoted_is_visited_too, |world| async {
    let config = |secret: &str| {
        named_source("sample", "github").replace("GITHUB_SECRET", secret)
            + "[destinations.log]\ntype = \"log\"\n"
            + &route("sample", "log")
    };
    let server = world.posthouse(&config("OTHER_SECRET")).with_samples().serve().await;
    let request =
        github("unused", "{\"id\":\"evt-1\"}").header("X-Visit", "https://localhost/?t=1");
    assert_eq!(server.post("sample", request).await.status, 401);
    until("the refused request in the quarantine", async || {
        let kept = server.get("/api/quarantine").await;
        (kept["items"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    drop(server);
    let server = world.posthouse(&config("GITHUB_SECRET")).with_samples().serve().await;
    for _ in 0..2 {
        let promote = ["--output", "json", "rejections", "promote", "--source", "sample"];
        let ran = server.cli(promote).run().await;
        assert!(ran.output.contains("\"unconfirmed\""), "{ran:?}");
    }
    assert_eq!(server.metric(FAILED).await, 1.0);
    assert_eq!(server.deliveries("").await.len(), 1);
});

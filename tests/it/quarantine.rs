//! Refused requests: the operator learns what is probably wrong and the sender nothing; what is
//! proved once that is mended is recorded; and strangers cannot fill anything.

use crate::harness::*;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Waits until so many refused requests are kept, and returns them, the latest first.
async fn kept(server: &Server, count: usize) -> Vec<Value> {
    until(&format!("{count} refused requests that are kept"), async || {
        let page = server.get("/api/quarantine?limit=500").await;
        let items = page["items"].as_array().unwrap().clone();
        (items.len() >= count).then_some(items)
    })
    .await
}

/// What a command says as JSON.
async fn told(server: &Server, arguments: &[&str]) -> Value {
    let ran = server.cli([]).arguments(&[&["--output", "json"], arguments].concat()).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.output).unwrap()
}

/// A source whose secret is not the one that its sender signs with.
fn mixed_up(stub: &Stub) -> String {
    straight("github", stub).replace("GITHUB_SECRET", "OTHER_SECRET")
}

both!(the_operator_learns_the_likely_cause_and_the_sender_nothing, |world| async {
    let url = "public_url = \"https://hooks.example.com/hooks/home\"\n";
    let home = "[sources.home]\nprovider = \"generic_hmac\"\nsecrets = [\"env:GITHUB_SECRET\"]\n";
    let scheme = "scheme = { header = \"x-sig\", signed = \"{url}{body}\", event = { key = \
        \"digest\" } }\n";
    let config = [
        named_source("mixed", "other").replace("\"other\"", "\"github\""),
        named_source("altered", "github"),
        named_source("wrong", "github"),
        named_source("late", "stripe"),
        named_source("strange", "gitlab"),
        logged("github"),
        [home, url, scheme].concat(),
    ];
    let server = world.serve(&config.concat()).await;
    let by_url = sha256_hex(GITHUB, &[b"https://inner.example.net/hooks/home{}"]);
    let by_url =
        Request::post("{}").header("X-Sig", by_url).header("X-Forwarded-Host", "inner.example.net");
    let mut altered = github("key-2", r#"{"a":1}"#);
    altered.body = br#"{ "a": 1 }"#.to_vec();
    let cases = [
        ("mixed", github("key-1", "{}"), "signature", "other_secret", "the secret of the source"),
        ("altered", altered, "signature", "body_altered", "byte for byte"),
        (
            "wrong",
            github_by("guessed", "key-3", "push", "{}"),
            "signature",
            "wrong_secret",
            "has another",
        ),
        (
            "late",
            stripe_at(now() - 4000, r#"{"id":"e"}"#),
            "timestamp",
            "clock",
            "s behind the clock here",
        ),
        ("strange", slack_at(now(), "{}"), "header_missing", "other_sender", "signed as by slack"),
        ("home", by_url, "signature", "other_url", "https://inner.example.net/hooks/home"),
    ];
    for (source, request, ..) in &cases {
        let answer = server.post(source, request.clone()).await;
        assert_eq!((answer.status, answer.text().as_str()), (401, ""), "{source}");
    }
    let all = kept(&server, cases.len()).await;
    for (source, _, reason, cause, words) in &cases {
        let one = all.iter().find(|one| one["source"] == *source).unwrap();
        assert_eq!((&one["reason"], &one["cause"]), (&json!(reason), &json!(cause)), "{one:#}");
        let likely = one["likely"].as_str().unwrap();
        assert!(likely.contains(words), "{likely}");
        let series = "posthouse_rejection_causes_total";
        let series = format!("{series}{{cause=\"{cause}\",source=\"{source}\"}}");
        assert_eq!(server.metric(&series).await, 1.0, "{series}");
        let ran = server.cli(["rejections", "show", one["id"].as_str().unwrap()]).run().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.output.contains(likely), "{}", ran.output);
        server.said(&format!("cause=\"{cause}\"")).await;
    }
    let altered = all.iter().find(|one| one["source"] == "altered").unwrap();
    let body = server.cli(["rejections", "body", altered["id"].as_str().unwrap()]).run().await;
    assert_eq!(body.output, r#"{ "a": 1 }"#);
    let list = told(&server, &["rejections", "list", "--source", "late"]).await;
    assert_eq!(list["items"][0]["reason"], "timestamp", "{list:#}");
    assert_eq!(list["quarantine"].as_array().unwrap().len(), 1);
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(once_the_secret_is_mended_what_was_refused_is_recorded, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&mixed_up(&stub)).await;
    let bodies = [r#"{"n":1}"#, r#"{"n":2}"#, "{\"n\":3}\r\n"];
    for (n, body) in bodies.iter().enumerate() {
        let request = github(&format!("key-{n}"), *body).header("Cookie", "session=1");
        assert_eq!(server.post("github", request).await.status, 401);
    }
    let forged = github_by("guessed", "key-9", "push", "{}");
    assert_eq!(server.post("github", forged).await.status, 401);
    let before = kept(&server, 4).await;
    let report = told(&server, &["rejections", "recheck"]).await;
    let refused = |item: &Value| item["outcome"] == "refused";
    assert!(report["items"].as_array().unwrap().iter().all(refused), "{report:#}");
    drop(server);
    let server = world.serve(&straight("github", &stub)).await;
    let list = told(&server, &["rejections", "recheck", "--source", "github"]).await;
    let outcomes: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|i| i["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["passes", "passes", "passes", "refused"]);
    assert_eq!(server.deliveries("").await.len(), 0, "only asked");
    let ran = server.cli(["rejections", "promote", "--source", "github"]).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.output.contains("3 of 4 recorded"), "{}", ran.output);
    let mut arrived: Vec<Vec<u8>> = stub.until(3).await.into_iter().map(|one| one.body).collect();
    arrived.sort();
    assert_eq!(arrived, bodies.map(|body| body.as_bytes().to_vec()));
    let deliveries = server.deliveries("").await;
    assert_eq!(deliveries.len(), 3);
    for delivery in &deliveries {
        let same = |one: &&Value| one["received_at"] == delivery["received_at"];
        assert!(before.iter().any(|one| same(&one)), "{delivery:#}");
        assert_eq!(delivery["coverage"], "body", "it was proved as ever");
    }
    let operations = server.get("/api/operations").await;
    let promoted = |one: &&Value| one["action"] == "promote";
    assert_eq!(operations["items"].as_array().unwrap().iter().filter(promoted).count(), 3);
    // The forged one stays, and can be had by no wish; the sender's own retry is a duplicate.
    let left = kept(&server, 1).await;
    assert_eq!(left.len(), 1);
    let id = left[0]["id"].as_str().unwrap();
    let ran = server.cli(["rejections", "promote", id]).run().await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let again = server.post("github", github("key-0", bodies[0])).await;
    assert_eq!(again.json()["status"], "duplicate");
    assert_eq!(server.cli(["rejections", "promote", "4711"]).run().await.code, Some(3));
    assert_eq!(server.deliveries("").await.len(), 3);
});

both!(a_promoted_request_is_judged_by_the_time_of_its_receipt, |world| async {
    let strict = |secret: &str| {
        let source = source("stripe").replace("STRIPE_SECRET", secret);
        source
            + "tolerance = \"2s\"\n[destinations.log]\ntype = \"log\"\n"
            + &route("stripe", "log")
    };
    let server = world.serve(&strict("STANDARD_WEBHOOKS_SECRET")).await;
    let sent = now();
    let event = |id: &str| format!("{{\"id\":{id:?},\"type\":\"t\"}}");
    assert_eq!(server.post("stripe", stripe_at(sent, event("evt_1"))).await.status, 401);
    assert_eq!(server.post("stripe", stripe_at(sent - 60, event("evt_2"))).await.status, 401);
    kept(&server, 2).await;
    drop(server);
    let server = world.serve(&strict("STRIPE_SECRET")).await;
    until("its time to be long past", async || (now() > sent + 4).then_some(())).await;
    assert_eq!(server.post("stripe", stripe_at(sent, event("evt_3"))).await.status, 401);
    let report = told(&server, &["rejections", "promote"]).await;
    let recorded = |item: &&Value| item["outcome"] == "recorded";
    let items = report["items"].as_array().unwrap();
    assert_eq!(items.iter().filter(recorded).count(), 1, "{report:#}");
    assert!(items.iter().any(|one| one["detail"].as_str().unwrap().contains("outside tolerance")));
    assert_eq!(server.only_delivery().await["key"], "evt_1");
});

both!(nothing_that_was_signed_with_is_shown_logged_or_stored_in_the_clear, |world| async {
    let token = "gl-token-of-another-42";
    let mut server = world.serve(&logged("gitlab")).await;
    let request = gitlab(token, "key-1", "{}").header("Authorization", "Bearer caller-secret-6");
    let request = request.header("Cookie", "session=cookie-secret-5");
    let request = request.to("/hooks/gitlab?token=query-secret-8");
    assert_eq!(server.exchange(&request).await.status, 401);
    let id = kept(&server, 1).await[0]["id"].as_str().unwrap().to_owned();
    let mut places = vec![server.metrics().await];
    for path in ["/api/quarantine".to_owned(), format!("/api/quarantine/{id}")] {
        places.push(server.get(&path).await.to_string());
    }
    assert!(
        places[2].contains("x-gitlab-token") && places[2].contains("Push Hook"),
        "{}",
        places[2]
    );
    for arguments in [["rejections", "list"].as_slice(), &["rejections", "show", &id]] {
        let ran = server.cli([]).arguments(arguments).run().await;
        places.extend([ran.output, ran.errors]);
    }
    let key = world.path().join("data/quarantine-key");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let key = std::fs::read_to_string(key).unwrap();
    server.stop().await;
    places.push(server.errors());
    let dump = world.database.dump().await;
    assert!(dump.contains("(not shown)") || dump.contains(&hex::encode("(not shown)")), "{dump}");
    places.push(dump);
    for secret in [token, &key, "caller-secret-6", "cookie-secret-5", "query-secret-8"] {
        let hex = hex::encode(secret);
        let found = places.iter().find(|place| place.contains(secret) || place.contains(&hex));
        assert_eq!(found, None, "{secret}");
    }
    // All the same it is there to be judged again, but for whoever has another key.
    server.restart().await;
    let kind = told(&server, &["rejections", "recheck"]).await;
    assert_eq!(kind["items"][0]["outcome"], "refused", "{kind:#}");
    let other = "[quarantine]\nkey = \"env:OTHER_SECRET\"\n".to_owned() + &logged("gitlab");
    drop(server);
    let server = world.serve(&other).await;
    let kind = told(&server, &["rejections", "recheck"]).await;
    assert_eq!(kind["items"][0]["outcome"], "unjudged", "{kind:#}");
});

both!(strangers_cannot_fill_the_quarantine, |world| async {
    let bounds = "[quarantine]\ncount = 3\nbytes = \"64KiB\"\nbody_max = \"30KiB\"\n";
    let config = bounds.to_owned() + &logged("github") + &named_source("large", "github");
    let server = world.serve(&config).await;
    let forged = |body: String| github_by("guessed", "key", "push", body);
    for n in 0..50 {
        assert_eq!(server.post("github", forged(format!("{n}"))).await.status, 401);
    }
    let first = kept(&server, 3).await;
    assert!(first.len() == 3 && first.iter().all(|one| one["body_bytes"] == 1), "{first:#?}");
    let dropped = server.metric("posthouse_not_quarantined_total{source=\"github\"}").await;
    assert!(dropped > 0.0 && dropped <= 47.0, "{dropped}");
    // One a second still gets in, and the oldest gives way.
    let oldest = &first[2]["id"];
    until("the oldest to give way", async || {
        server.post("github", forged("later".into())).await;
        let items = kept(&server, 3).await;
        assert_eq!(items.len(), 3);
        items.iter().all(|one| one["id"] != *oldest).then_some(())
    })
    .await;
    // 30 KiB that cannot be compressed, twice, is all that 64 KiB hold.
    let random = || hex::encode((0..15 << 10).map(|_| rand::random()).collect::<Vec<u8>>());
    let noise = |_| -> Vec<u8> { (0..30 << 10).map(|_| rand::random()).collect() };
    for body in (0..3).map(noise) {
        let request = github_by("guessed", "key", "push", body);
        assert_eq!(server.post("large", request).await.status, 401);
    }
    let of_large = async || {
        let page = server.get("/api/quarantine?source=large").await;
        page["items"].as_array().unwrap().clone()
    };
    until("two of them", async || (of_large().await.len() == 2).then_some(())).await;
    let long = random() + "x";
    until("a long one to be kept without its body", async || {
        server.post("large", github_by("guessed", "key", "push", long.clone())).await;
        let items = of_large().await;
        items.iter().find(|one| one["body_kept"] == false).map(|one| {
            assert_eq!(one["body_bytes"], (30 << 10) + 1);
        })
    })
    .await;
    let report = told(&server, &["rejections", "recheck", "--source", "large"]).await;
    let unjudged = |one: &&Value| one["outcome"] == "unjudged";
    assert!(report["items"].as_array().unwrap().iter().any(|one| unjudged(&one)), "{report:#}");
});

both!(what_is_refused_last_is_kept_and_what_is_old_is_not, |world| async {
    let mut server = world.serve(&logged("github")).await;
    let forged = github_by("guessed", "key", "push", "{}");
    assert_eq!(server.post("github", forged.clone()).await.status, 401);
    server.stop().await;
    server.restart().await;
    assert_eq!(kept(&server, 1).await.len(), 1);
    world.database.run("UPDATE quarantine SET received_us = 1700000000000000").await;
    server.restart().await;
    until("the old one to be forgotten", async || {
        let page = server.get("/api/quarantine").await;
        page["items"].as_array().unwrap().is_empty().then_some(())
    })
    .await;
    drop(server);
    let off = "[quarantine]\ncount = 0\n".to_owned() + &logged("github");
    let mut server = world.serve(&off).await;
    assert_eq!(server.post("github", forged).await.status, 401);
    server.stop().await;
    assert_eq!(world.database.number("SELECT count(*) FROM quarantine").await, 0);
});

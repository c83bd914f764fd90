//! Signatures: what is accepted, what is refused, and that a refusal tells nothing.

use crate::harness::*;

const BAD: &str = r#"{"ref":"refs/heads/bad-sig"}"#;
const HEX: &str = r#"{"ref":"refs/heads/hex"}"#;
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Two secrets at once: the other one, and GitHub's.
fn two_secrets(stub: &Stub) -> String {
    let both = "secrets = [\"env:OTHER_SECRET\", \"env:GITHUB_SECRET\"]";
    let one = "secrets = [\"env:GITHUB_SECRET\"]";
    straight("github", stub).replace(one, both)
}

both!(while_a_secret_is_replaced_both_are_good_and_then_only_one, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&two_secrets(&stub)).await;
    let body = r#"{"ref":"refs/heads/rotate"}"#;
    let old = |key| github_by(GITHUB, key, "push", body);
    let new = |key| github_by(OTHER, key, "push", body);
    assert_eq!(server.post("github", old("7d3c002f")).await.status, 200);
    assert_eq!(server.post("github", new("7d3c0030")).await.status, 200);
    for (key, secret) in [("7d3c002f", 1), ("7d3c0030", 0)] {
        let found = server.deliveries(&format!("?key={key}")).await;
        assert_eq!(found[0]["secret"], secret, "which of the two it was, never its text");
    }
    drop(server);
    let retired = straight("github", &stub).replace("GITHUB_SECRET", "OTHER_SECRET");
    let server = world.serve(&retired).await;
    assert_eq!(server.post("github", old("7d3c0031")).await.status, 401);
    assert_eq!(server.post("github", new("7d3c0032")).await.status, 200);
    assert_eq!(server.deliveries("").await.len(), 3);
});

both!(any_v1_of_stripes_may_match_wherever_it_stands, |world| async {
    let server = world.serve(&logged("stripe")).await;
    let send = async |id: &str, header: &str| {
        let body = format!("{{\"id\":{id:?},\"type\":\"invoice.paid\",\"created\":1700000000}}");
        let time = now();
        let good = stripe_v1(STRIPE, time, body.as_bytes());
        let header = header.replace("TIME", &time.to_string()).replace("GOOD", &good);
        let request = stripe(body).with("Stripe-Signature", header.replace("ZEROS", ZEROS));
        server.post("stripe", request).await.status
    };
    assert_eq!(send("evt_rot_1", "t=TIME,v1=GOOD,v1=ZEROS").await, 200);
    assert_eq!(send("evt_rot_2", "t=TIME,v1=ZEROS,v1=GOOD").await, 200);
    assert_eq!(send("evt_rot_3", "t=TIME,v0=ffff,v1=not-hex,v1=GOOD").await, 200);
    assert_eq!(send("evt_rot_4", "t=TIME,v0=GOOD").await, 401, "v0 proves nothing");
    assert_eq!(send("evt_rot_5", "t=TIME").await, 401);
    assert_eq!(send("evt_rot_6", "v1=GOOD").await, 401, "the time is signed too");
    assert_eq!(server.deliveries("").await.len(), 3);
});

both!(every_wrong_signature_gets_the_same_answer, |world| async {
    let server = world.serve(&logged("github")).await;
    let good = sha256_hex(GITHUB, &[BAD.as_bytes()]);
    let short = &good[..63];
    let elsewhere = sha256_hex(OTHER, &[BAD.as_bytes()]);
    let shapes = [
        String::new(),
        "foo".to_owned(),
        "sha256=".to_owned(),
        format!("sha256={short}"),
        format!("sha256={good}80"),
        format!("sha256={}", "z".repeat(64)),
        format!("sha256={elsewhere}"),
        format!("{good} "),
        format!("sha256 ={good}"),
        format!("sha256={good},sha256={good}"),
        format!("sha256={ZEROS}"),
    ];
    let missing = github("7d3c003c", BAD).without("X-Hub-Signature-256");
    let first = server.post("github", missing).await;
    assert_eq!((first.status, first.text().as_str()), (401, ""));
    for (index, shape) in shapes.iter().enumerate() {
        let request = github(&format!("7d3c003d-{index}"), BAD);
        let answer = server.post("github", request.with("X-Hub-Signature-256", shape)).await;
        let untimed = |answer: &Response| {
            let headers = answer.headers.iter().filter(|(name, _)| name != "date").cloned();
            (answer.status, headers.collect::<Vec<_>>(), answer.body.clone())
        };
        assert_eq!(untimed(&answer), untimed(&first), "{shape:?}");
    }
    assert_eq!(server.deliveries("").await.len(), 0);
    // The operator is told them apart.
    let reasons = until("the refusals in the ledger", async || {
        let rows = server.get("/api/rejections").await["items"].as_array().unwrap().clone();
        let count: i64 = rows.iter().filter_map(|row| row["count"].as_i64()).sum();
        (count == 12).then_some(rows)
    })
    .await;
    assert!(reasons.len() >= 3, "missing, malformed and wrong: {reasons:#?}");
});

both!(a_refusal_looks_like_one_to_every_provider, |world| async {
    let text = ["github", "shopify", "stripe"].map(source).concat();
    let routes = ["github", "shopify", "stripe"].map(|name| route(name, "log")).concat();
    let server = world.serve(&(text + "[destinations.log]\ntype = \"log\"\n" + &routes)).await;
    let wrong = github_by("wrong", "7d3c004b", "push", BAD);
    assert_eq!(server.post("github", wrong).await.status, 401);
    let wrong = shopify("w-1", "orders/updated", r#"{"id":1}"#);
    let wrong = wrong.with("X-Shopify-Hmac-Sha256", "LbXjV7dvvgqx52K2XN8VHRn9e/PnGSLswb7Ty0ZWheo=");
    assert_eq!(server.post("shopify", wrong).await.status, 401);
    let (time, body) = (now(), r#"{"id":"evt_x","type":"t"}"#);
    let header = format!("t={time},v1={}", stripe_v1("wrong", time, body.as_bytes()));
    let wrong = stripe(body).with("Stripe-Signature", header);
    assert_eq!(server.post("stripe", wrong).await.status, 401);
    assert_eq!(server.deliveries("").await.len(), 0);
    // The same three, signed well.
    assert_eq!(server.post("github", github("7d3c004b", BAD)).await.status, 200);
    let good = shopify("w-1", "orders/updated", r#"{"id":1}"#);
    assert_eq!(server.post("shopify", good).await.status, 200);
    assert_eq!(server.post("stripe", stripe(body)).await.status, 200);
});

both!(hexadecimal_may_be_in_capitals_and_the_prefix_may_not_be_missing, |world| async {
    let server = world.serve(&logged("github")).await;
    let good = sha256_hex(GITHUB, &[HEX.as_bytes()]);
    let send = async |key: &str, signature: String| {
        let request = github(key, HEX).with("X-Hub-Signature-256", signature);
        server.post("github", request).await.status
    };
    assert_eq!(send("7d3c0050", format!("sha256={}", good.to_uppercase())).await, 200);
    assert_eq!(send("7d3c0051", good.clone()).await, 401);
    assert_eq!(send("7d3c0052", format!("SHA256={good}")).await, 401);
    assert_eq!(send("7d3c0053", format!("sha512={good}")).await, 401);
});

both!(a_good_sha1_does_not_save_a_bad_sha256, |world| async {
    let server = world.serve(&logged("github")).await;
    let sha1 = format!("sha1={}", sha1_hex(GITHUB, &[HEX.as_bytes()]));
    let downgraded = github("7d3c0054", HEX).with("X-Hub-Signature-256", format!("sha256={ZEROS}"));
    let downgraded = downgraded.header("X-Hub-Signature", &sha1);
    assert_eq!(server.post("github", downgraded).await.status, 401);
    let wrong_sha1 = format!("sha1={}", "0".repeat(40));
    let both = github("7d3c0055", HEX).header("X-Hub-Signature", wrong_sha1);
    assert_eq!(server.post("github", both).await.status, 200);
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(two_signature_lines_are_refused_in_either_order, |world| async {
    let server = world.serve(&logged("github")).await;
    let good = github("7d3c005a", HEX);
    let bad = format!("sha256={ZEROS}");
    let after = good.clone().header("X-Hub-Signature-256", &bad);
    let mut before = after.clone();
    before.headers.reverse();
    let (after, before) = (server.post("github", after).await, server.post("github", before).await);
    assert_eq!((after.status, before.status), (401, 401));
    assert_eq!(after.body, before.body);
    let twice = good.clone().header("x-hub-signature-256", good.headers[3].1.clone());
    assert_eq!(server.post("github", twice).await.status, 401, "even twice the same");
    assert_eq!(server.deliveries("").await.len(), 0);
    assert_eq!(server.post("github", good).await.status, 200);
});

both!(the_right_digest_is_told_to_nobody, |world| async {
    let launch = world.posthouse(&logged("github")).env("POSTHOUSE_LOG", "trace");
    let server = launch.serve().await;
    let body = r#"{"ref":"refs/heads/leak"}"#;
    let right = sha256_hex(GITHUB, &[body.as_bytes()]);
    let request = github("7d3c0060", body).with("X-Hub-Signature-256", "1".repeat(64));
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 401);
    until("the refusal in the ledger", async || {
        let rows = server.get("/api/rejections").await;
        (!rows["items"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    let rejections = server.get("/api/rejections").await.to_string();
    for place in [answer.text(), server.errors(), server.metrics().await, rejections] {
        assert!(!place.contains(&right) && !place.contains(&right.to_uppercase()), "{place}");
    }
});

both!(a_signed_url_is_the_configured_one_whatever_the_request_says, |world| async {
    let url = "https://hooks.example.test/hooks/home";
    let config = format!(
        "[sources.home]\nprovider = \"generic_hmac\"\nsecrets = [\"env:GITHUB_SECRET\"]\n\
         public_url = {url:?}\nscheme.header = \"X-Signature\"\n\
         scheme.signed = \"{{method}} {{url}} {{body}}\"\nscheme.event.key = \"header:X-Id\"\n\
         [destinations.log]\ntype = \"log\"\n{}",
        route("home", "log")
    );
    let server = world.serve(&config).await;
    let signed = |id: &str, url: &str| {
        let signature = sha256_hex(GITHUB, &[b"POST ", url.as_bytes(), b" {}"]);
        Request::post("{}").header("X-Id", id).header("X-Signature", signature)
    };
    assert_eq!(server.post("home", signed("1", url)).await.status, 200);
    let elsewhere = signed("2", "http://127.0.0.1/hooks/home");
    let elsewhere = elsewhere.header("X-Forwarded-Proto", "http");
    let elsewhere = elsewhere.header("X-Forwarded-Host", "127.0.0.1");
    assert_eq!(server.post("home", elsewhere).await.status, 401);
    let forwarded = signed("3", url).header("X-Forwarded-Host", "evil.example.test");
    assert_eq!(server.post("home", forwarded).await.status, 200);
    let query = signed("4", &format!("{url}?a=1&b=%2F")).to("/hooks/home?a=1&b=%2F");
    assert_eq!(server.exchange(&query).await.status, 200, "the query is signed as it was sent");
    assert_eq!(server.exchange(&query.to("/hooks/home?a=2&b=%2F")).await.status, 401);
});

both!(a_token_must_be_exactly_the_token, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("gitlab", &stub)).await;
    let body = r#"{"object_kind":"push"}"#;
    assert_eq!(server.post("gitlab", gitlab(GITLAB, "7d3c0086", body)).await.status, 200);
    let wrong = ["gl-token-marble-0", "gl-token-marble-09x", "", "GL-TOKEN-MARBLE-09"];
    for (index, token) in wrong.iter().enumerate() {
        let request = gitlab(token, &format!("7d3c0087-{index}"), body);
        assert_eq!(server.post("gitlab", request).await.status, 401, "{token:?}");
    }
    let none = gitlab("", "7d3c0089", body).without("X-Gitlab-Token");
    assert_eq!(server.post("gitlab", none).await.status, 401);
    let delivery = server.only_delivery().await;
    assert!(!delivery.to_string().contains(GITLAB), "{delivery}");
    assert_eq!(delivery["coverage"], "sender", "a token says nothing about the body");
    let received = stub.until(1).await;
    assert_eq!(received[0].header("x-gitlab-token"), None);
});

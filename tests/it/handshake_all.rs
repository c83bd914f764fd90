//! The handshakes of every sender that has one, through the real program: each is answered as the
//! sender's own form wants it, what only looks like one is not, and none records anything.

use crate::harness::*;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};

const LOG: &str = "[destinations.log]\ntype = \"log\"\n";

both!(every_senders_handshakes_are_answered_and_recorded_nowhere, |world| async {
    let all = vectors();
    let cases = all.iter().flat_map(|of| of.handshake.iter().map(move |case| (of, case)));
    let cases = cases.filter(|(_, case)| case.is_sendable());
    let cases: Vec<_> = cases.enumerate().map(|(n, of)| (format!("h{n}"), of)).collect();
    let source =
        |(name, (of, case)): &(String, (&Vectors, &Handshake))| case.source(&world, name, of);
    let config: String = cases.iter().map(source).collect();
    let server = world.serve(&(config + LOG)).await;
    let mut senders = std::collections::BTreeSet::new();
    for (name, (of, case)) in &cases {
        let what = format!("{}: {}", of.provider, case.name);
        let answer = server.exchange(&case.request(name)).await;
        let kept = std::fs::read_to_string(world.path().join(format!("data/{name}.secret")));
        assert_eq!(kept.ok(), case.plants, "{what}: the secret that is kept");
        if case.none {
            assert!(case.plants.is_none() && answer.header("x-hook-secret").is_none(), "{what}");
            continue;
        }
        senders.insert(&of.provider);
        assert_eq!((answer.status, answer.text()), (case.status, case.reply.clone()), "{what}");
        for (header, value) in &case.reply_headers {
            assert_eq!(answer.header(header), Some(value.as_str()), "{what}: {header}");
        }
    }
    let metrics = server.metrics().await;
    for (name, (of, case)) in &cases {
        let answered = format!("posthouse_handshakes_total{{source=\"{name}\"}} 1\n");
        let what = format!("{}: {}", of.provider, case.name);
        assert_eq!(metrics.contains(&answered), !case.none, "{what}");
    }
    assert!(senders.len() >= 15, "{senders:?}");
    assert_eq!(server.deliveries("").await.len(), 0);
});

both!(a_challenge_under_a_proof_is_answered_and_recorded_nowhere, |world| async {
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
    let all = vectors();
    // Those that are signed along with a time are signed anew below.
    let timed = ["discord", "slack", "twitch", "zoom"];
    let untimed = all.iter().filter(|of| !timed.contains(&&*of.provider));
    let untimed: Vec<_> = untimed
        .flat_map(|of| of.challenge.iter().map(move |case| (of, case)))
        .enumerate()
        .map(|(n, of)| (format!("c{n}"), of))
        .collect();
    let mut config: String =
        untimed.iter().map(|(name, (of, case))| case.source(&world, name, of)).collect();
    config += &filed(&world, "discord", "discord", &hex::encode(pair.public_key()), "");
    for provider in ["slack", "twitch", "zoom"] {
        config += &filed(&world, provider, provider, SLACK, "");
    }
    let server = world.serve(&(config + LOG)).await;
    for (name, (of, case)) in &untimed {
        let what = format!("{}: {}", of.provider, case.name);
        let answer = server.exchange(&case.request(name)).await;
        assert_eq!((answer.status, answer.text()), (case.status, case.reply.clone()), "{what}");
    }
    let providers: Vec<&str> = untimed.iter().map(|(_, (of, _))| &*of.provider).collect();
    assert!(providers.contains(&"line") && providers.contains(&"xero"), "{providers:?}");
    let time = now().to_string();

    let body =
        r#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkv"}"#;
    let answer = server.post("slack", slack_at(now(), body)).await;
    assert_eq!(answer.text(), "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkv");
    assert_eq!(server.post("slack", slack_at(now() - 4000, body)).await.status, 401);

    let body = r#"{"event":"endpoint.url_validation","event_ts":1,
        "payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}"#;
    let zoom = |secret: &str| {
        let tag = sha256_hex(secret, &[b"v0:", time.as_bytes(), b":", body.as_bytes()]);
        Request::post(body)
            .header("Content-Type", "application/json")
            .header("x-zm-request-timestamp", &time)
            .header("x-zm-signature", format!("v0={tag}"))
    };
    let answer = server.post("zoom", zoom(SLACK)).await.json();
    assert_eq!(answer["encryptedToken"], sha256_hex(SLACK, &[b"qgg8vlvZRS6UYooatFL8Aw"]));
    assert_eq!(server.post("zoom", zoom("guessed")).await.status, 401, "it signs for nobody");

    let body = r#"{"challenge":"pogchamp-kappa-360noscope-vohiyo",
        "subscription":{"type":"channel.follow"}}"#;
    let at = jiff::Timestamp::from_second(now()).unwrap().to_string();
    let tag = sha256_hex(SLACK, &[b"message-1", at.as_bytes(), body.as_bytes()]);
    let twitch = Request::post(body)
        .header("Content-Type", "application/json")
        .header("Twitch-Eventsub-Message-Id", "message-1")
        .header("Twitch-Eventsub-Message-Timestamp", &at)
        .header("Twitch-Eventsub-Message-Type", "webhook_callback_verification")
        .header("Twitch-Eventsub-Message-Signature", format!("sha256={tag}"));
    assert_eq!(server.post("twitch", twitch).await.text(), "pogchamp-kappa-360noscope-vohiyo");

    let ping = r#"{"type":1}"#;
    let discord = |time: &str| {
        let tag = pair.sign(format!("{time}{ping}").as_bytes());
        Request::post(ping)
            .header("Content-Type", "application/json")
            .header("X-Signature-Timestamp", time)
            .header("X-Signature-Ed25519", hex::encode(tag))
    };
    let answer = server.post("discord", discord(&time)).await;
    assert_eq!((answer.status, answer.json()["type"].as_i64()), (200, Some(1)));
    let forged = discord(&time).with("X-Signature-Timestamp", (now() - 1).to_string());
    assert_eq!(server.post("discord", forged).await.status, 401);
    assert_eq!(server.deliveries("").await.len(), 0);
});

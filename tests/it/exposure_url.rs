//! Secrets that stand in URLs: nothing that anybody reads or that is stored has them.

use crate::harness::*;

/// The secrets of the sources.
const TOKENS: [(&str, &str, &str); 3] = [
    ("docker_hub", "token", "hub-token-of-a-rider-1"),
    ("cloudevents", "access_token", "cloud-token-of-a-rider-2"),
    ("event_grid", "code", "grid-token-of-a-rider-3"),
];

fn request(name: &str, query: &str, id: &str) -> Request {
    let body = match name {
        "event_grid" => format!(
            r#"[{{"id":{id:?},"eventType":"a.b","subject":"s","data":{{}},"dataVersion":"1",
                "eventTime":"2026-01-01T00:00:00Z"}}]"#
        ),
        _ => format!(
            r#"{{"push_data":{{"pushed_at":1,"tag":{id:?}}},"repository":{{"repo_name":"a/b"}}}}"#
        ),
    };
    Request::post(body)
        .to(&format!("/hooks/{name}?{query}"))
        .header("Content-Type", "application/json")
        .header("aeg-event-type", "Notification")
        .header("ce-specversion", "1.0")
        .header("ce-id", id)
        .header("ce-source", "/example")
        .header("ce-type", "a.b")
}

both!(a_secret_in_a_url_is_shown_logged_and_stored_nowhere, |world| async {
    let stub = Stub::start([Answer::status(400)]).await;
    let mut config = out(&stub);
    for (name, _, secret) in TOKENS {
        let route = |to: &str| route(name, to);
        config += &filed(&world, name, name, secret, "").replace(&route("log"), &route("out"));
    }
    let launch = world.posthouse(&config).env("POSTHOUSE_LOG", "trace");
    let mut server = launch.serve().await;
    let forged = "forged-token-of-a-stranger-4";
    for (name, field, secret) in TOKENS {
        for (query, id, status) in [
            (format!("{field}={secret}"), "good", 200),
            (format!("x=1&{field}={secret}"), "good", 200),
            (format!("{field}={forged}"), "forged", 401),
            // The right one under a wrong name, or cut: what an operator mistyped at the sender.
            (format!("{field}s={secret}"), "elsewhere", 401),
            (format!("{field}={secret}x"), "longer", 401),
        ] {
            let answer = server.exchange(&request(name, &query, id)).await;
            assert_eq!(answer.status, status, "{name}: {query}: {}", answer.text());
        }
        // Methods that are answered without a proof, and a body that is not read to its end.
        for method in ["GET", "HEAD", "OPTIONS", "PUT"] {
            let looked = Request::new(method, &format!("/hooks/{name}?{field}={secret}"));
            server.exchange(&looked).await;
        }
        let unreadable = Request { body: b"[".into(), ..request(name, "", "x") };
        let unreadable = unreadable.to(&format!("/hooks/{name}?{field}={secret}"));
        server.exchange(&unreadable).await;
    }
    stub.until(TOKENS.len()).await;
    server.settled().await;
    let mut places: Vec<String> =
        stub.received().iter().map(|received| format!("{received:?}")).collect();
    for (name, ..) in TOKENS {
        let trigger = ["trigger", name, "push"];
        for trigger in [
            server.cli(trigger),
            server.cli(trigger).arguments(&["--output=json", "trigger", name, "push", "--tamper"]),
        ] {
            let ran = trigger.env("POSTHOUSE_LOG", "trace").run().await;
            assert!(ran.output.contains("accepted"), "{ran:?}");
            places.extend([ran.output, ran.errors]);
        }
        // Nobody listens there: what the client says then has often the URL in it.
        let nobody = format!("http://127.0.0.1:{}", wire::free_port());
        let ran = server.cli(["trigger", name, "push", "--url", &nobody]).run().await;
        assert_ne!(ran.code, Some(0));
        places.extend([ran.output, ran.errors]);
    }
    let kept = until("the refused requests in the quarantine", async || {
        let kept = server.get("/api/quarantine").await;
        Some(kept["items"].as_array()?.clone()).filter(|kept| kept.len() >= 3 * TOKENS.len())
    })
    .await;
    for one in &kept {
        let id = one["id"].as_str().unwrap();
        places.push(server.get(&format!("/api/quarantine/{id}")).await.to_string());
        let ran = server.cli(["rejections", "show", id]).run().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        places.extend([ran.output, ran.errors]);
    }
    for delivery in server.deliveries("").await {
        let id = delivery["id"].as_str().unwrap();
        places.push(server.get(&format!("/api/deliveries/{id}")).await.to_string());
        let ran = server.cli(["deliveries", "show", id]).run().await;
        places.extend([ran.output, ran.errors]);
    }
    for path in [
        "deliveries",
        "jobs",
        "sources",
        "routes",
        "rejections",
        "quarantine",
        "alarms",
        "operations",
    ] {
        places.push(server.get(&format!("/api/{path}")).await.to_string());
    }
    for arguments in [["rejections", "recheck"], ["rejections", "list"], ["check", "--output=json"]]
    {
        let ran = server.cli(arguments).env("POSTHOUSE_LOG", "trace").run().await;
        places.extend([ran.output, ran.errors]);
    }
    places.extend([server.metrics().await, server.output()]);
    server.stop().await;
    places.push(server.errors());
    places.push(world.database.dump().await);
    for secret in TOKENS.iter().map(|(.., secret)| *secret).chain([forged]) {
        let hex = hex::encode(secret);
        let found = places.iter().find(|place| place.contains(secret) || place.contains(&hex));
        assert_eq!(found, None, "{secret}");
    }
    assert!(places.iter().any(|place| place.contains("a/b")), "these are the right places");
});

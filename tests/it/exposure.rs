//! What strangers and readers get to see: no secrets, no markup, no difference to learn from.

use crate::harness::*;
use serde_json::json;

both!(no_secret_is_shown_logged_or_stored, |world| async {
    let stub = Stub::start([Answer::status(400).body(format!("you sent {DESTINATION}"))]).await;
    let token = "adm-token-linden-2";
    let mut config =
        "[admin]\ntoken = \"env:TOKEN\"\n".to_owned() + &source("github") + &out(&stub);
    config += "headers.Authorization = \"env:DESTINATION_SECRET\"\n";
    let launch = world.posthouse(&(config + &route("github", "out"))).env("TOKEN", token);
    let mut server = launch.env("POSTHOUSE_LOG", "trace").serve().await;
    server.token = token.to_owned();
    let request = github("7d3c0049", r#"{"n":1}"#).header("Cookie", "session=cookie-secret-5");
    let request = request.header("Authorization", "Bearer caller-secret-6");
    let signature = sha256_hex(GITHUB, &[&request.body]);
    assert_eq!(server.post("github", request.clone()).await.status, 200);
    let forged = request.with("X-Hub-Signature-256", "sha256=forged-secret-7");
    assert_eq!(server.post("github", forged).await.status, 401);
    let received = stub.until(1).await;
    assert_eq!(received[0].header("authorization").as_deref(), Some(DESTINATION));
    server.settled().await;
    let id = server.only_delivery().await["id"].as_str().unwrap().to_owned();
    let mut places = vec![server.output(), server.metrics().await];
    let job = format!("/api/jobs/{id}-0");
    let delivery = format!("/api/deliveries/{id}");
    for path in ["/api/deliveries", &delivery, "/api/jobs", &job, "/api/sources", "/api/routes"] {
        places.push(server.get(path).await.to_string());
    }
    for path in ["/api/rejections", "/api/operations", "/readyz"] {
        places.push(server.get(path).await.to_string());
    }
    for arguments in [
        ["check", "--output", "table"],
        ["check", "--output", "json"],
        ["deliveries", "show", &id],
        ["jobs", "list", "--output=json"],
        ["routes", "list", "--output=json"],
        ["rejections", "--output", "json"],
    ] {
        let ran = server.cli(arguments).env("POSTHOUSE_LOG", "trace").run().await;
        places.extend([ran.output, ran.errors]);
    }
    assert!(places.iter().any(|place| place.contains("env:GITHUB_SECRET (set)")), "{places:#?}");
    server.stop().await;
    places.push(server.errors());
    places.push(world.database.dump().await);
    let secrets = ["cookie-secret-5", "caller-secret-6", "forged-secret-7", "dest-secret-9"];
    for secret in [GITHUB, token, &signature].into_iter().chain(secrets) {
        let hex = hex::encode(secret);
        let found = places.iter().find(|place| place.contains(secret) || place.contains(&hex));
        assert_eq!(found, None, "{secret}");
    }
});

both!(what_a_sender_wrote_is_text_and_nothing_else, |world| async {
    let server =
        world.serve(&(source("stripe") + &logged("github") + &route("stripe", "log"))).await;
    let body = r#"{"title":"</script><img src=x onerror=alert(1)>","u":"javascript:alert(1)"}"#;
    let request = github_by(GITHUB, "7d3c004d", "<svg/onload=alert(2)>", body);
    let request = request.header("User-Agent", "\"><img src=x onerror=alert(3)>");
    assert_eq!(server.post("github", request).await.status, 200);
    let bad = github("7d3c004e", "{}").with("X-Hub-Signature-256", "<b>bad</b>");
    let refusal = server.post("github", bad).await;
    assert_eq!((refusal.status, refusal.text().as_str()), (401, ""));
    let id = server.only_delivery().await["id"].as_str().unwrap().to_owned();
    let paths = ["/api/deliveries", "/api/deliveries/ID", "/api/deliveries/ID/body", "/healthz"];
    for path in paths.map(|path| path.replace("ID", &id)) {
        let answer = server.ask("GET", &path, None).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(!kind.contains("html"), "{path}: {kind}");
        if path.ends_with("/body") {
            assert_eq!(kind, "application/octet-stream");
            let how = answer.header("content-disposition").unwrap_or_default();
            assert!(how.starts_with("attachment"), "{how}");
        }
    }
    // On a terminal, in a log and in a metric it must not write lines or colours of its own.
    let event = r#"{"id":"evt_1","type":"a\u001b[2J\nFAKE line\r\u009b31m\u202e"}"#;
    assert_eq!(server.post("stripe", stripe(event)).await.status, 200);
    let event = event.replace("evt_1", "evt_\\u001b]0;x\\u0007");
    assert_eq!(server.post("stripe", stripe(event)).await.status, 400, "no key has such letters");
    let jobs = server.settled().await;
    let show = ["jobs", "show", jobs[0]["id"].as_str().unwrap()];
    let list = server.cli(["deliveries", "list"]).run().await.output;
    for text in [list, server.cli(show).run().await.output, server.errors(), server.metrics().await]
    {
        let control =
            |letter: &char| letter.is_control() && *letter != '\n' || *letter == '\u{202e}';
        // The log's own colours are off where it is no terminal.
        assert_eq!(text.chars().find(control), None, "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{text:?}");
    }
});

both!(the_admin_api_is_closed_without_its_token, |world| async {
    let config = "[admin]\ntoken = \"env:TOKEN\"\n".to_owned() + &logged("github");
    let mut server = world.posthouse(&config).env("TOKEN", "adm-token-linden-2").serve().await;
    let paths = [
        ("GET", "/api/deliveries"),
        ("GET", "/api/deliveries/1"),
        ("GET", "/api/deliveries/1/body"),
        ("GET", "/api/jobs"),
        ("GET", "/api/jobs/1-0"),
        ("POST", "/api/jobs/1-0/retry"),
        ("POST", "/api/jobs/1-0/cancel"),
        ("POST", "/api/replays"),
        ("POST", "/api/prune"),
        ("GET", "/api/sources"),
        ("GET", "/api/routes"),
        ("GET", "/api/rejections"),
        ("GET", "/api/operations"),
        ("GET", "/api/alarms"),
        ("GET", "/api/no-such-path"),
        ("GET", "/api"),
    ];
    for (method, path) in paths {
        let plain = Request::new(method, path);
        let tries = [
            plain.clone(),
            plain.clone().header("Authorization", "Bearer wrong"),
            plain.clone().header("Authorization", "Bearer "),
            plain.clone().header("Authorization", "adm-token-linden-2"),
            plain.clone().header("Authorization", "Basic adm-token-linden-2"),
            plain.clone().header("Authorization", "Bearer adm-token-linden-2x"),
            plain.clone().header("X-Forwarded-For", "127.0.0.1"),
            plain.clone().to(&format!("{path}?token=adm-token-linden-2")),
            plain.clone().header("Cookie", "token=adm-token-linden-2"),
        ];
        for request in tries {
            let answer = server.admin_exchange(&request).await;
            assert_eq!(answer.status, 401, "{request:?}");
            assert!(!answer.text().contains("linden"), "{}", answer.text());
            assert_eq!(server.exchange(&request).await.status, 404, "not by the public listener");
        }
        let known = plain.clone().header("Authorization", "Bearer adm-token-linden-2");
        assert_eq!(server.exchange(&known).await.status, 404, "not even with the token: {path}");
        assert_ne!(server.admin_exchange(&known).await.status, 401, "{path}");
    }
    server.token = "adm-token-linden-2".into();
    assert_eq!(server.get("/api/deliveries").await["items"], json!([]));
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.admin_exchange(&Request::new("GET", path)).await.status, 200, "{path}");
    }
    // Without a token of the operator's choice it does not open itself to other machines.
    let open = world.posthouse(&logged("github")).env("POSTHOUSE__ADMIN__LISTEN", "0.0.0.0:0");
    let refused = open.clone().args(["serve"]).run().await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("admin.listen: "), "{}", refused.errors);
    let refused = open.config(&config).env("TOKEN", "").args(["serve"]).run().await;
    assert_eq!(refused.code, Some(2));
});

both!(a_flood_of_forgeries_costs_neither_the_real_sender_nor_the_ledger, |world| async {
    let config = logged("github").replace("provider", "rate = 10\nprovider");
    let server = world.serve(&config).await;
    let size = world.database.size().await;
    let forged = |n| github_by("guessed", "7d3c0050", "push", format!("{{\"n\":{n}}}"));
    let mut requests: Vec<Request> = (0..5000).map(forged).collect();
    requests.insert(2500, github("7d3c0051", r#"{"n":1}"#));
    let requests = requests.into_iter().map(|request| request.to("/hooks/github")).collect();
    let answers = send_all(server.public(), requests, 20, Default::default()).await;
    for (index, answer) in answers.iter().enumerate() {
        let status = answer.as_ref().map(|answer| answer.status);
        assert_eq!(status, Some(if index == 2500 { 200 } else { 401 }), "request {index}");
    }
    let counted = until("all refusals to be counted", async || {
        let rows = server.get("/api/rejections").await["items"].as_array().unwrap().clone();
        let count: i64 = rows.iter().filter_map(|row| row["count"].as_i64()).sum();
        (count >= 5000).then_some(rows)
    })
    .await;
    assert_eq!((counted.len(), &counted[0]["count"]), (1, &json!(5000)));
    assert_eq!(server.deliveries("").await.len(), 1);
    let lines = server.errors().lines().count();
    assert!(lines < 500, "{lines} lines of log");
    let grown = world.database.size().await - size;
    assert!(grown < 1 << 20, "the database grew by {grown} bytes");
});

both!(unknown_and_disabled_sources_look_alike, |world| async {
    let disabled = named_source("off", "github") + "disabled = true\n";
    let server = world.serve(&(disabled + &logged("github"))).await;
    let signed = github("7d3c0053", r#"{"n":1}"#);
    let untimed = |answer: Response| {
        let headers = answer.headers.into_iter().filter(|(name, _)| name != "date");
        (answer.status, headers.collect::<Vec<_>>(), answer.body)
    };
    let off = untimed(server.post("off", signed.clone()).await);
    assert_eq!((off.0, off.2.as_slice()), (404, b"".as_slice()));
    let names = (0..200).map(|n| format!("no-such-{n}")).collect::<Vec<_>>();
    for name in names.iter().map(String::as_str).chain(["%00", "..", "a%2Fb", "%F0%9F", ";"]) {
        assert_eq!(untimed(server.post(name, signed.clone()).await), off, "{name}");
    }
    for method in ["GET", "HEAD"] {
        let status = async |name| {
            server.exchange(&Request::new(method, &format!("/hooks/{name}"))).await.status
        };
        assert_eq!((status("off").await, status("no-such").await), (404, 404));
    }
    for name in ["off", "no-such"] {
        let announced = signed.clone().to(&format!("/hooks/{name}"));
        let announced = announced.header("Expect", "100-continue");
        let mut wire = server.wire().await;
        wire.send(&announced.head(&[("Content-Length", "27262984")])).await.unwrap();
        assert_eq!(wire.answer().await.unwrap().status, 100, "{name} has no limit to tell of");
    }
    let forged = signed.with("X-Hub-Signature-256", format!("sha256={}", "0".repeat(64)));
    assert_eq!(server.post("github", forged).await.status, 401);
    assert_eq!(server.deliveries("").await.len(), 0);
    let metrics = server.metrics().await;
    assert!(!metrics.contains("no-such"), "no name of a stranger's choice becomes a series");
    let rows = until("the refusal in the ledger", async || {
        let rows = server.get("/api/rejections").await["items"].as_array().unwrap().clone();
        (!rows.is_empty()).then_some(rows)
    })
    .await;
    assert_eq!((rows.len(), &rows[0]["source"]), (1, &json!("github")), "{rows:#?}");
});

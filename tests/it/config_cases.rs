//! Configuration: secrets are taken as they are written, and nothing insecure starts by mistake.

use crate::harness::*;

/// A source of GitHub's with this text as its only reference to a secret.
fn github_with(reference: &str) -> String {
    logged("github").replace("env:GITHUB_SECRET", reference)
}

both!(the_line_end_of_a_secret_file_is_not_part_of_the_secret, |world| async {
    let body = r#"{"ref":"refs/heads/secret-newline"}"#;
    for (index, end) in ["\n", "\r\n", ""].iter().enumerate() {
        let file = world.file("secret", &format!("{GITHUB}{end}"));
        let server = world.serve(&github_with(&format!("file:{file}"))).await;
        let request = github(&format!("7d3c001e-{index}"), body);
        assert_eq!(server.post("github", request).await.status, 200, "{end:?}");
        let check = server.cli(["check"]).run().await;
        assert_eq!(check.code, Some(0));
        assert_eq!(check.output.contains("line end"), !end.is_empty(), "{}", check.output);
    }
    // What is within the secret is never touched.
    let file = world.file("secret", " two  words \n\n");
    let server = world.serve(&github_with(&format!("file:{file}"))).await;
    let request = github_by(" two  words \n", "7d3c001f", "push", body);
    assert_eq!(server.post("github", request).await.status, 200);
});

both!(a_base64_secret_may_lack_its_padding_or_its_prefix, |world| async {
    let config = named_source("e", "standard_webhooks") + &named_source("f", "standard_webhooks");
    let config = config.replacen("STANDARD_WEBHOOKS_SECRET", "E_SECRET", 1);
    let config = config.replacen("STANDARD_WEBHOOKS_SECRET", "F_SECRET", 1);
    let config = config + "[destinations.log]\ntype = \"log\"\n" + &route("e", "log");
    let launch = world.posthouse(&(config + &route("f", "log")));
    let launch = launch.env("E_SECRET", "whsec_cGViYmxlLWNhbnlvbi1vcmJpdC0yMg");
    let server = launch.env("F_SECRET", "cGViYmxlLWNhbnlvbi1vcmJpdC0yMg==").serve().await;
    let key = b"pebble-canyon-orbit-22";
    for (source, id) in [("e", "msg_pad_1"), ("f", "msg_pad_2")] {
        let request = standard_by(key, id, r#"{"type":"a"}"#);
        assert_eq!(server.post(source, request).await.status, 200, "{source}");
    }
});

both!(something_else_pasted_as_a_secret_is_named_and_nothing_starts, |world| async {
    let config = source("standard_webhooks") + &source("stripe");
    let config = config + "[destinations.log]\ntype = \"log\"\n" + &route("stripe", "log");
    let launch = world.posthouse(&(config + &route("standard_webhooks", "log")));
    let pasted = "v1,whsec_aGFyYm9yLXF1YXJ0ei1sYW50ZXJuLTI0";
    let launch = launch.env("STANDARD_WEBHOOKS_SECRET", pasted);
    let launch = launch.env("STRIPE_SECRET", "sk_test_51NotASigningSecret");
    for command in ["check", "serve"] {
        let ran = launch.clone().args([command]).run().await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        for part in [
            "sources.standard_webhooks.secrets[0]: ",
            "did you mean whsec_",
            "sources.stripe.secrets[0]: ",
            "looks like an API key",
        ] {
            assert!(ran.errors.contains(part), "{part} in {}", ran.errors);
        }
        assert!(!ran.errors.contains("aGFyYm9y") && !ran.errors.contains("51Not"), "{ran:?}");
    }
});

both!(the_same_text_is_another_key_to_stripe_than_to_standard_webhooks, |world| async {
    let config = source("standard_webhooks") + &source("stripe");
    let config = config + "[destinations.log]\ntype = \"log\"\n" + &route("stripe", "log");
    let launch = world.posthouse(&(config + &route("standard_webhooks", "log")));
    let server = launch.env("STRIPE_SECRET", STANDARD).serve().await;
    let (time, body) = (now(), r#"{"id":"evt_b64_1","type":"ping","created":1}"#);
    let header = format!("t={time},v1={}", stripe_v1(STANDARD, time, body.as_bytes()));
    let whole = stripe(body).with("Stripe-Signature", header);
    assert_eq!(server.post("stripe", whole).await.status, 200, "the whole text is the key");
    let whole = standard_by(STANDARD.as_bytes(), "msg_utf8key", r#"{"type":"x"}"#);
    assert_eq!(server.post("standard_webhooks", whole).await.status, 401);
    let decoded = standard("msg_decoded", r#"{"type":"x"}"#);
    assert_eq!(server.post("standard_webhooks", decoded).await.status, 200);
});

both!(an_empty_or_missing_secret_stops_the_start, |world| async {
    let launch = world.posthouse(&logged("github"));
    let empty = world.file("empty", "\n");
    let faults = [
        (launch.clone().env("GITHUB_SECRET", ""), "GITHUB_SECRET is empty"),
        (launch.clone().env("GITHUB_SECRET", "  "), "GITHUB_SECRET is empty"),
        (launch.clone().without_env("GITHUB_SECRET"), "GITHUB_SECRET is not set"),
        (launch.clone().config(&github_with("")), "expected a reference"),
        (launch.clone().config(&github_with(&format!("file:{empty}"))), "is empty"),
        (launch.clone().config(&github_with("file:/nowhere")), "cannot be read"),
        (launch.clone().config(&github_with("x").replace("\"x\"", "")), "unsigned = true"),
    ];
    for (launch, fault) in faults {
        for command in ["check", "serve"] {
            let ran = launch.clone().args([command]).run().await;
            assert_eq!(ran.code, Some(2), "{fault}: {ran:?}");
            assert!(ran.errors.contains(fault), "{fault} in {}", ran.errors);
        }
    }
});

both!(a_source_without_proof_has_to_say_so_and_is_pointed_out, |world| async {
    let config = logged("github").replace("secrets = [\"env:GITHUB_SECRET\"]", "unsigned = true");
    let server = world.serve(&config).await;
    let anyone = github("7d3c0023", "{}").without("X-Hub-Signature-256");
    assert_eq!(server.post("github", anyone).await.status, 200);
    assert_eq!(server.only_delivery().await["coverage"], "nothing");
    assert!(server.output().contains("from anyone"), "{}", server.output());
});

both!(a_secret_with_dollars_and_braces_is_not_expanded, |world| async {
    for (index, secret) in
        ["s3cr$Lm7Nq0R$$x{y}", "${HOME}", "0012", "a # b", "\"q\""].iter().enumerate()
    {
        let file = world.file("secret", secret);
        for reference in [format!("file:{file}"), "env:GITHUB_SECRET".to_owned()] {
            let launch = world.posthouse(&github_with(&reference));
            let launch = launch.env("GITHUB_SECRET", secret).env("HOME", "/expanded");
            let server = launch.serve().await;
            let request = github_by(secret, &format!("{reference}-{index}"), "push", "{}");
            assert_eq!(server.post("github", request).await.status, 200, "{secret} by {reference}");
        }
    }
});

both!(a_check_names_every_fault_at_once_and_touches_nothing, |world| async {
    let config = concat!(
        "[server]\nlisten = \"nowhere\"\nheaders_timeout = \"1s\"\n",
        "[workers]\nconcurrency = 0\nlease = \"soon\"\n",
        "[sources.hub]\nprovider = \"GitHub\"\nsecrets = [\"env:NOT_THERE\"]\n",
        "[sources.Stripe]\nprovider = \"stripe\"\nsecrets = [\"plain-text-secret\"]\n",
        "[destinations.out]\ntype = \"http\"\n",
        "[[routes]]\nsource = \"hub\"\ndestination = \"nowhere\"\n",
    );
    let check = world.posthouse(config).without_env("POSTHOUSE__SERVER__LISTEN");
    let check = check.args(["check"]).run().await;
    assert_eq!(check.code, Some(2), "{check:?}");
    for fault in [
        "server.listen: ",
        "server.headers_timeout: ",
        "workers.concurrency: ",
        "workers.lease: ",
        "sources.hub.provider: ",
        "perhaps github",
        "sources.hub.secrets[0]: ",
        "sources.Stripe: ",
        "sources.Stripe.secrets[0]: ",
        "destinations.out.url: ",
        "routes[0].destination: ",
    ] {
        assert!(check.errors.contains(fault), "{fault} in {}", check.errors);
    }
    assert!(!check.errors.contains("plain-text-secret"), "{}", check.errors);
    assert!(!world.path().join("data").exists());
});

both!(the_environment_stands_over_the_file_and_flags_over_both, |world| async {
    let config = logged("github") + "[workers]\nconcurrency = 3\n[store]\nbatch_max = 7\n";
    let launch = world.posthouse(&config).env("POSTHOUSE__WORKERS__CONCURRENCY", "5");
    let launch = launch.env("POSTHOUSE__STORE__BATCH_MAX", "8");
    let arguments = ["check", "--output", "json", "--set", "store.batch_max=9"];
    let check = launch.args(arguments).run().await;
    assert_eq!(check.code, Some(0), "{check:?}");
    let shown: serde_json::Value = serde_json::from_str(&check.output).unwrap();
    assert_eq!(shown["config"]["workers"]["concurrency"], 5);
    assert_eq!(shown["config"]["store"]["batch_max"], 9);
});

//! `trigger` and `providers`: events that are changed, printed and sent in a sender's name.

use crate::harness::*;
use serde_json::{Value, json};

both!(fields_are_changed_before_the_event_is_signed, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let trigger = [
        "trigger",
        "github",
        "issues.opened",
        "--set",
        "/issue/title=it's 7 o'clock",
        "--set",
        "/issue/number=4711",
        "--set",
        "/labels/first=[true]",
        "--set",
        "server.body_timeout=20s",
    ];
    let ran = server.cli(trigger).run().await;
    assert_eq!((ran.code, ran.output.as_str()), (Some(0), "1 accepted\n"), "{ran:?}");
    let body: Value = serde_json::from_slice(&stub.until(1).await[0].body).unwrap();
    assert_eq!(body["issue"]["title"], "it's 7 o'clock");
    assert_eq!(body["issue"]["number"], 4711);
    assert_eq!(body["labels"], json!({ "first": [true] }));
    assert_eq!(body["action"], "opened", "the rest is the sample");
    let file = world.file("event.json", "{\"list\":[1]}");
    let of_file = ["trigger", "github", "push", "--file", &file, "--set", "/list/0=2"];
    assert_eq!(server.cli(of_file).run().await.code, Some(0));
    assert_eq!(stub.until(2).await[1].body, b"{\"list\":[2]}");
    let nowhere = ["trigger", "github", "push", "--file", &file, "--set", "/list/9=2"];
    let ran = server.cli(nowhere).run().await;
    assert_eq!(ran.code, Some(2));
    assert!(ran.errors.contains("no place /list/9"), "{}", ran.errors);
    // For every other command it is a key of the configuration, and there is none such.
    assert_eq!(server.cli(["check", "--set", "/list/0=2"]).run().await.code, Some(2));
});

both!(a_printed_command_sends_what_trigger_would_have_sent, |world| async {
    let names = ["github", "stripe", "standard_webhooks", "slack", "shopify", "gitlab"];
    let config = names.map(source).concat() + "[destinations.log]\ntype = \"log\"\n";
    let routes = names.map(|name| route(name, "log")).concat();
    let server = world.serve(&(config + &routes)).await;
    // Stands for curl, which need not be there: writes down what a shell hands to it.
    world.file("curl", "#!/bin/sh\nprintf '%s\\0' \"$@\" > arguments\ncat > input\n");
    let printed = async |arguments: &[&str]| {
        let ran = server.cli([]).arguments(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let script = format!("cd {:?} && chmod +x curl && PATH=.:$PATH\n", world.path());
        let mut shell = std::process::Command::new("/bin/sh");
        let script = world.file("send.sh", &(script + &ran.output));
        let done = shell.arg(script).stdin(std::process::Stdio::null());
        assert!(done.status().unwrap().success(), "{}", ran.output);
        let said = std::fs::read_to_string(world.path().join("arguments")).unwrap();
        let mut words = said.split('\0');
        let mut request = Request::post("");
        while let Some(word) = words.next() {
            match word {
                "-X" => request.method = words.next().unwrap().to_owned(),
                "-H" => {
                    let (name, value) = words.next().unwrap().split_once(": ").unwrap();
                    request = request.header(name, value);
                }
                "--data-raw" => request.body = words.next().unwrap().into(),
                "--data-binary" => {
                    assert_eq!(words.next(), Some("@-"));
                    request.body = std::fs::read(world.path().join("input")).unwrap();
                }
                url => {
                    request.path = url
                        .rsplit_once("/hooks")
                        .map_or(request.path, |(_, rest)| format!("/hooks{rest}"))
                }
            }
        }
        server.exchange(&request).await
    };
    for name in names {
        let answer = printed(&["trigger", name, "some.event", "--print", "curl"]).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    }
    assert_eq!(server.deliveries("").await.len(), names.len(), "printing alone sends nothing");
    let quoted = "/text=it's \"$HOME\" `x` \\ \u{e9}";
    let arguments = ["trigger", "github", "push", "--set", quoted, "--print", "curl"];
    assert_eq!(printed(&arguments).await.status, 200);
    let text = b"it's \"$HOME\" `x` $(x) \\ \n\xc3\xa9'".to_vec();
    for bytes in [text, b"\0\xff\n'".to_vec(), b"x".repeat(200_000), b"@file".to_vec(), Vec::new()]
    {
        let path = world.path().join("body");
        std::fs::write(&path, &bytes).unwrap();
        let path = path.display().to_string();
        let arguments = ["trigger", "github", "push", "--file", &path, "--print", "curl"];
        let answer = printed(&arguments).await;
        assert_eq!(answer.status, 200, "{} bytes", bytes.len());
        let id = answer.json()["delivery"].as_str().unwrap().to_owned();
        assert_eq!(server.body(&id).await, bytes);
    }
});

both!(a_provider_is_shown_with_its_samples_and_all_of_them_are_taken, |world| async {
    let server = world.serve(&logged("github")).await;
    let ran = server.cli(["--output", "json", "providers", "show", "github"]).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.output).unwrap();
    let samples = shown["samples"].as_array().unwrap();
    assert!(samples.contains(&json!("pull_request.opened")), "{shown:#}");
    for sample in samples {
        let ran = server.cli(["trigger", "github", sample.as_str().unwrap()]).run().await;
        assert_eq!((ran.code, ran.output.as_str()), (Some(0), "1 accepted\n"), "{ran:?}");
    }
    assert_eq!(server.deliveries("").await.len(), samples.len());
    let ran = server.cli(["providers", "show", "github"]).run().await;
    assert!(ran.output.contains("GitHub (github)") && ran.output.contains("issues.opened"));
    assert_eq!(server.cli(["providers", "show", "nobody"]).run().await.code, Some(3));
    let list = server.cli(["providers"]).run().await;
    assert_eq!(list.output, server.cli(["providers", "list"]).run().await.output);
    assert!(list.output.contains("stripe"), "{}", list.output);
});

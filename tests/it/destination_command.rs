//! Programs as destinations: what they get, what their exit says, and how they end.

use crate::harness::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// One source, and a shell that runs a script. Further keys of the route may follow.
fn running(script: &str, further: &str) -> String {
    let argv = json!(["sh", "-c", script]);
    let destination = format!("[destinations.run]\ntype = \"command\"\nargv = {argv}\n{further}");
    source("github") + &destination + &route("github", "run") + SOON
}

/// Sends a delivery, waits until all jobs are settled, and returns its only job.
async fn delivered(server: &Server, request: Request) -> Value {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    server.settled().await;
    let id = answer.json()["delivery"].as_str().unwrap().to_owned();
    server.delivery(&id).await["jobs"][0].clone()
}

/// The outcomes of the attempts of a job, with their exit codes.
fn outcomes(job: &Value) -> Vec<(&str, Option<i64>)> {
    let attempts = job["attempts"].as_array().unwrap().iter();
    let outcome = |attempt: &Value| attempt["status"].as_i64();
    attempts.map(|attempt| (attempt["outcome"].as_str().unwrap(), outcome(attempt))).collect()
}

/// Whether a process runs.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

both!(a_body_larger_than_any_argument_goes_in_by_standard_input, |world| async {
    let path = world.path().join("count").display().to_string();
    let server = world.serve(&running(&format!("wc -c > {path}"), "")).await;
    let body = format!("{{\"x\":\"{}\"}}", "a".repeat(3_000_000));
    let job = delivered(&server, github("7d3c0084", body)).await;
    assert_eq!((&job["state"], outcomes(&job)), (&json!("succeeded"), vec![("accepted", Some(0))]));
    assert_eq!(std::fs::read_to_string(path).unwrap().trim(), "3000008");
});

both!(a_program_is_told_the_facts_and_no_secret, |world| async {
    let [body, environment] =
        ["body", "environment"].map(|name| world.path().join(name).display().to_string());
    let script = format!("cat > {body}; env -0 > {environment}; echo done; echo so >&2");
    let config = running(&script, "");
    let server = world.posthouse(&config).env("PATH", "/usr/bin:/bin").serve().await;
    let request = push("one", 1);
    let job = delivered(&server, request.clone()).await;
    assert_eq!(job["attempts"][0]["answer"], "done\nso\n");
    assert_eq!(std::fs::read(body).unwrap(), request.body);
    let text = std::fs::read_to_string(environment).unwrap();
    let told: BTreeMap<&str, &str> =
        text.split_terminator('\0').map(|line| line.split_once('=').unwrap()).collect();
    let delivery = server.only_delivery().await;
    let lane = lane_of("one");
    for (name, expected) in [
        ("POSTHOUSE_DELIVERY", delivery["id"].as_str().unwrap()),
        ("POSTHOUSE_SOURCE", "github"),
        ("POSTHOUSE_KEY", "one-1"),
        ("POSTHOUSE_KIND", "push"),
        ("POSTHOUSE_ENTITY", &lane),
        ("POSTHOUSE_LANE", &lane),
        ("POSTHOUSE_ROUTE", "github-run"),
        ("POSTHOUSE_ATTEMPT", "1"),
        ("POSTHOUSE_SEQUENCE", "1"),
        ("POSTHOUSE_RECEIVED_AT", delivery["received_at"].as_str().unwrap()),
        ("POSTHOUSE_IDEMPOTENCY_KEY", "github:one-1:github-run"),
        ("POSTHOUSE_CONTENT_TYPE", "application/json"),
        ("PATH", "/usr/bin:/bin"),
    ] {
        assert_eq!(told.get(name), Some(&expected), "{name}");
    }
    // Nothing of the server's own environment, where its secrets are.
    let ours = |name: &&str| name.starts_with("POSTHOUSE_") && !name.starts_with("POSTHOUSE__");
    let further: Vec<&&str> = told.keys().filter(|name| !ours(name)).collect();
    assert!(further.iter().all(|name| ["PATH", "PWD", "_", "SHLVL"].contains(name)), "{further:?}");
    for (_, secret) in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
});

both!(the_exit_code_decides, |world| async {
    let tries = world.path().join("tries").display().to_string();
    // The third time it does what it was asked for.
    let script = format!(
        "body=$(cat); echo x >> {tries}
        case $body in
            *'\"n\":75,'*) test $(wc -l < {tries}) -ge 3 || exit 75 ;;
            *'\"n\":100,'*) exit 100 ;;
            *'\"n\":1,'*) exit 1 ;;
            *'\"n\":9,'*) kill -9 $$ ;;
        esac"
    );
    let server = world.serve(&(running(&script, "") + "max_attempts = 3\n")).await;
    for (n, state, expected) in [
        (75, "succeeded", vec![("failed", Some(75)), ("failed", Some(75)), ("accepted", Some(0))]),
        (100, "dead", vec![("refused", Some(100))]),
        (1, "dead", vec![("failed", Some(1)); 3]),
        (9, "dead", vec![("failed", None); 3]),
        (0, "succeeded", vec![("accepted", Some(0))]),
    ] {
        let job = delivered(&server, push("one", n)).await;
        assert_eq!((job["state"].as_str(), outcomes(&job)), (Some(state), expected), "{n}");
        if n == 9 {
            assert_eq!(job["attempts"][0]["detail"], "killed by signal SIGKILL");
        }
    }
});

both!(out_of_time_a_program_is_killed_with_all_that_it_started, |world| async {
    let pids = world.path().join("pids").display().to_string();
    let script = format!("sleep 300 & echo $$ $! > {pids}; wait");
    let config = running(&script, "timeout = \"300ms\"\n");
    let server = world.serve(&config).await;
    let job = delivered(&server, push("one", 1)).await;
    assert_eq!((&job["state"], outcomes(&job)), (&json!("uncertain"), vec![("uncertain", None)]));
    let detail = job["attempts"][0]["detail"].as_str().unwrap();
    assert_eq!(detail, "timeout after 300 ms, killed, outcome unknown");
    let text = std::fs::read_to_string(pids).unwrap();
    assert_eq!(text.split_whitespace().count(), 2, "{text}");
    for pid in text.split_whitespace() {
        until("the program to be gone", async || (!is_running(pid)).then_some(())).await;
    }
});

both!(a_program_that_cannot_be_started_has_not_succeeded, |world| async {
    let config = source("github")
        + "[destinations.run]\ntype = \"command\"\nargv = [\"/no/such/program\", \"x\"]\n"
        + &route("github", "run")
        + SOON;
    let server = world.serve(&(config + "max_attempts = 2\n")).await;
    let job = delivered(&server, push("one", 1)).await;
    assert_eq!((&job["state"], outcomes(&job)), (&json!("dead"), vec![("unreached", None); 2]));
    let detail = job["attempts"][1]["detail"].as_str().unwrap();
    assert!(detail.contains("/no/such/program") && detail.contains("No such file"), "{detail}");
});

both!(little_is_kept_of_much_output, |world| async {
    let script = "cat > /dev/null; yes | head -c 1000000; exit 100";
    let server = world.serve(&running(script, "")).await;
    let job = delivered(&server, push("one", 1)).await;
    assert_eq!(outcomes(&job), [("refused", Some(100))]);
    assert_eq!(job["attempts"][0]["answer"], "y\n".repeat(2048));
});

both!(arguments_are_never_read_by_a_shell, |world| async {
    let hostile = world.path().join("pwned").display().to_string();
    let path = world.path().join("arguments").display().to_string();
    let script = format!("printf '%s|' \"$@\" > {path}");
    let argument = format!("$(touch {hostile}); `touch {hostile}` ' \" *");
    let argv = json!(["sh", "-c", script, "sh", argument, "two words"]);
    let config = source("github")
        + &format!("[destinations.run]\ntype = \"command\"\nargv = {argv}\n")
        + &route("github", "run");
    let server = world.serve(&config).await;
    let body = format!(r#"{{"ref":"$(touch {hostile})","repository":{{"id":7}}}}"#);
    let request = github("7d3c-$(touch x)", body);
    assert_eq!(delivered(&server, request).await["state"], "succeeded");
    assert_eq!(std::fs::read_to_string(path).unwrap(), format!("{argument}|two words|"));
    assert!(!Path::new(&hostile).exists());
});

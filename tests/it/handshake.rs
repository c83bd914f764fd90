//! Handshakes before any proof: answered by whatever method, recorded nowhere; and secrets that a
//! sender hands over, which are taken only while somebody waits for one.

use crate::harness::*;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const HANDED: &str = "handed-over-lantern-77";
const ANOTHER: &str = "handed-over-by-another";

/// A source of the samples' with these keys; what it takes goes to the log.
fn greeting(keys: &str) -> String {
    format!("[sources.sample]\nprovider = \"github\"\n{keys}\n")
        + "[destinations.log]\ntype = \"log\"\n"
        + &route("sample", "log")
}

const PENDING: &str = "pending = true";
const SECRET: &str = "secrets = [\"env:GITHUB_SECRET\"]";

/// The request by which the sender hands over a secret.
fn handing_over(secret: &str) -> Request {
    Request::post("{}").header("X-Hook-Secret", secret)
}

fn signed_by(secret: &str, key: &str) -> Request {
    github_by(secret, "unused", "push", format!("{{\"id\":{key:?}}}"))
}

fn file(world: &World) -> PathBuf {
    world.path().join("data/sample.secret")
}

both!(a_registration_is_answered_by_any_method_and_recorded_nowhere, |world| async {
    let verify = format!("{SECRET}\nverify_token = \"env:OTHER_SECRET\"");
    let gone = greeting(&verify).replace("sample", "samplegone");
    let gone = gone.replace("provider", "disabled = true\nprovider");
    let gone = gone.replace("[destinations.log]\ntype = \"log\"\n", "");
    let config = greeting(&verify) + &gone;
    let server = world.posthouse(&config).with_samples().serve().await;
    let path = format!("/hooks/sample?token={OTHER}&challenge=%3Cb%3Ehello");
    let answer = server.exchange(&Request::new("GET", &path)).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "<b>hello"));
    assert_eq!(answer.header("content-type"), Some("text/plain"), "never a page");
    let answer = server.exchange(&Request::new("HEAD", &path)).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    let options = Request::new("OPTIONS", "/hooks/sample");
    let origin = options.clone().header("WebHook-Request-Origin", "events.example.com");
    let answer = server.exchange(&origin).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("webhook-allowed-origin"), Some("events.example.com"));
    assert_eq!(server.metric("posthouse_handshakes_total{source=\"sample\"}").await, 3.0);
    // What is no handshake is answered as ever.
    assert_eq!(server.exchange(&options).await.status, 405);
    let wrong = format!("/hooks/sample?token={GITHUB}&challenge=hello");
    let answer = server.exchange(&Request::new("GET", &wrong)).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    assert_eq!(server.metric("posthouse_handshakes_total{source=\"sample\"}").await, 3.0);
    for name in ["samplegone", "nobody"] {
        let path = path.replace("/sample?", &format!("/{name}?"));
        assert_eq!(server.exchange(&Request::new("GET", &path)).await.status, 404, "{name}");
        let origin = origin.clone().to(&format!("/hooks/{name}"));
        assert_eq!(server.exchange(&origin).await.status, 405, "{name}");
    }
    assert_eq!(server.deliveries("").await.len(), 0);
    assert!(!server.errors().contains(OTHER), "{}", server.errors());
});

both!(a_handed_over_secret_is_kept_and_used_at_once_and_after_a_restart, |world| async {
    let mut server = world.posthouse(&greeting(PENDING)).with_samples().serve().await;
    assert!(server.output().contains("takes the secret of whoever"), "{}", server.output());
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-0")).await.status, 401);
    let answer = server.post("sample", handing_over(HANDED)).await;
    assert_eq!((answer.status, answer.header("x-hook-secret")), (204, Some(HANDED)));
    assert_eq!(std::fs::read_to_string(file(&world)).unwrap(), HANDED);
    let mode = std::fs::metadata(file(&world)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.said("take `pending` away").await;
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-1")).await.status, 200);
    // The answer may have been lost: the same one again is fine, another one is not.
    assert_eq!(server.post("sample", handing_over(HANDED)).await.status, 204);
    let answer = server.post("sample", handing_over(ANOTHER)).await;
    assert_eq!((answer.status, answer.text().as_str()), (401, ""));
    assert_eq!(std::fs::read_to_string(file(&world)).unwrap(), HANDED);
    assert_eq!(server.post("sample", signed_by(ANOTHER, "evt-2")).await.status, 401);
    server.said("another secret was handed over").await;
    assert!(!server.errors().contains(HANDED) && !server.errors().contains(ANOTHER));
    server.restart().await;
    assert!(server.output().contains("take this away"), "{}", server.output());
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-3")).await.status, 200);
    assert_eq!(server.post("sample", handing_over(ANOTHER)).await.status, 401);
    drop(server);
    let server = world.posthouse(&greeting("")).with_samples().serve().await;
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-4")).await.status, 200);
    assert_eq!(server.post("sample", handing_over(HANDED)).await.status, 401, "not pending");
    assert_eq!(server.deliveries("").await.len(), 3);
    assert!(!server.output().contains(HANDED), "{}", server.output());
});

both!(two_processes_with_one_directory_use_the_secret_that_either_took, |world| async {
    let first = world.posthouse(&greeting(PENDING)).with_samples().serve().await;
    let second = world.posthouse(&greeting(PENDING)).with_samples().serve().await;
    assert_eq!(first.post("sample", handing_over(HANDED)).await.status, 204);
    assert_eq!(second.post("sample", signed_by(HANDED, "evt-1")).await.status, 200);
    assert_eq!(second.post("sample", handing_over(ANOTHER)).await.status, 401);
});

both!(no_secret_is_taken_that_nobody_waits_for_or_that_is_none, |world| async {
    let server = world.posthouse(&greeting(SECRET)).with_samples().serve().await;
    assert_eq!(server.post("sample", handing_over(HANDED)).await.status, 401);
    assert!(!file(&world).exists());
    drop(server);
    let pending = format!("{SECRET}\n{PENDING}");
    let server = world.posthouse(&greeting(&pending)).with_samples().serve().await;
    for bad in ["x".repeat(1025), "sk_live_4242424242".to_owned(), "a\tb".to_owned()] {
        assert_eq!(server.post("sample", handing_over(&bad)).await.status, 401, "{bad}");
    }
    assert!(!file(&world).exists());
    assert_eq!(server.post("sample", signed_by(GITHUB, "evt-1")).await.status, 200);
    // What cannot be kept is not taken.
    std::fs::create_dir(file(&world)).unwrap();
    assert_eq!(server.post("sample", handing_over(HANDED)).await.status, 503);
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-2")).await.status, 401);
    std::fs::remove_dir(file(&world)).unwrap();
    assert_eq!(server.post("sample", handing_over(HANDED)).await.status, 204);
    assert_eq!(server.post("sample", signed_by(HANDED, "evt-3")).await.status, 200);
    assert_eq!(server.post("sample", signed_by(GITHUB, "evt-4")).await.status, 200);
});

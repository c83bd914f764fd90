//! Posthouse as a library: code in the process takes deliveries, and what it writes commits with
//! its job or not at all.

use crate::harness::*;
use posthouse::app::{App, Role};
use posthouse::config::{Config, Files};
use posthouse::deliver::Handler;
use posthouse::delivery::DeliveryId;
use posthouse::job::{Class, Lease, Outcome, State, Value, Write};
use posthouse::store::{AttemptView, JobView};
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// A handler made of a function.
struct Acting<F>(F);

impl<F, O> Handler for Acting<F>
where
    F: Fn(Lease) -> O + Send + Sync + 'static,
    O: Future<Output = Outcome> + Send + 'static,
{
    fn handle<'a>(
        &'a self,
        lease: &'a Lease,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin((self.0)(lease.clone()))
    }
}

/// Leases are short, further tries come at once, and the destination is a handler.
fn text() -> String {
    "[workers]\nlease = \"1s\"\npoll = \"50ms\"\n[destinations.here]\ntype = \"handler\"\n"
        .to_owned()
        + &source("github")
        + &route("github", "here")
        + SOON
}

/// Starts Posthouse in this process.
async fn start(url: &str, directory: &Path, handler: impl Handler) -> App {
    let secrets = SECRETS.map(|(name, secret)| (name.to_owned(), secret.to_owned()));
    let keys = [
        ("STORE__URL", url.to_owned()),
        ("STORE__DATA_DIR", directory.join("data").display().to_string()),
        ("SERVER__LISTEN", "127.0.0.1:0".to_owned()),
        ("ADMIN__LISTEN", "127.0.0.1:0".to_owned()),
    ];
    let keys = keys.map(|(key, value)| (format!("POSTHOUSE__{key}"), value));
    let environment: BTreeMap<_, _> = secrets.into_iter().chain(keys).collect();
    let config = Config::from_text(Some(&text()), vec![], environment, Files::Untouched).unwrap();
    let handler: Arc<dyn Handler> = Arc::new(handler);
    App::start(&config, Role::All, BTreeMap::from([("here".to_owned(), handler)])).await.unwrap()
}

/// Sends a delivery, which is accepted. Its id.
async fn send(app: &App, request: Request) -> DeliveryId {
    let mut wire = Wire::connect(app.public.unwrap()).await.unwrap();
    let answer = wire.exchange(&request.to("/hooks/github")).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["delivery"].as_str().unwrap().parse().unwrap()
}

/// Waits until the only job of a delivery is in a state, and returns it with its attempts.
async fn until_state(app: &App, id: DeliveryId, state: State) -> (JobView, Vec<AttemptView>) {
    let job = until(&format!("a job that is {}", state.word()), async || {
        let jobs = app.store.jobs_of(id).await.ok()?;
        jobs.into_iter().find(|job| job.state == state)
    })
    .await;
    let attempts = app.store.attempts_of(id).await.unwrap();
    (job, attempts)
}

/// The row by which a handler leaves a trace of a job.
fn trace(lease: &Lease) -> Write {
    let values = vec![Value::Text(lease.job.to_string()), Value::Int(lease.attempt)];
    Write { sql: "INSERT INTO traces (job, attempt) VALUES ($1, $2)".into(), values }
}

fn accepted(writes: Vec<Write>) -> Outcome {
    Outcome { writes, ..Outcome::new(Class::Accepted, "done") }
}

const TRACES: &str = "CREATE TABLE traces (job TEXT NOT NULL, attempt BIGINT NOT NULL)";

async fn traces(world: &World) -> i64 {
    world.database.number("SELECT count(*) FROM traces").await
}

both!(a_handler_that_panics_has_failed_and_its_worker_lives, |world| async {
    let handler = Acting(|lease: Lease| async move {
        match (lease.delivery.key.as_str(), lease.attempt) {
            ("one-1", 1) => panic!("out of luck"),
            ("one-1", 2) => std::panic::panic_any(7),
            _ => accepted(vec![]),
        }
    });
    let app = start(&world.database.url(), world.path(), handler).await;
    let panicking = send(&app, push("one", 1)).await;
    let behind = send(&app, push("one", 2)).await;
    let (_, attempts) = until_state(&app, panicking, State::Succeeded).await;
    let outcomes: Vec<_> = attempts.iter().map(|one| (&*one.outcome, &*one.detail)).collect();
    let expected = [("failed", "panicked: out of luck"), ("failed", "panicked: without a message")];
    assert_eq!(outcomes[..2], expected);
    assert_eq!(outcomes[2], ("accepted", "done"));
    assert_eq!(until_state(&app, behind, State::Succeeded).await.1.len(), 1);
    app.stop().await;
});

both!(writes_of_a_handler_commit_with_its_job, |world| async {
    let (opening, open) = watch::channel(false);
    let handler = Acting(move |lease: Lease| {
        let mut open = open.clone();
        async move {
            let _ = open.wait_for(|open| *open).await;
            accepted(vec![trace(&lease), trace(&lease)])
        }
    });
    let app = start(&world.database.url(), world.path(), handler).await;
    world.database.run(TRACES).await;
    let id = send(&app, push("one", 1)).await;
    until_state(&app, id, State::Running).await;
    assert_eq!(traces(&world).await, 0);
    opening.send(true).unwrap();
    until_state(&app, id, State::Succeeded).await;
    assert_eq!(traces(&world).await, 2);
    app.stop().await;
});

both!(writes_that_are_refused_leave_nothing_and_are_a_failed_attempt, |world| async {
    let handler = Acting(|lease: Lease| async move {
        let wrong = Write { sql: "INSERT INTO nowhere (job) VALUES (1)".into(), values: vec![] };
        match (lease.delivery.key.as_str(), lease.attempt) {
            ("wrong-1", 1) => accepted(vec![trace(&lease), wrong]),
            _ => accepted(vec![trace(&lease)]),
        }
    });
    let app = start(&world.database.url(), world.path(), handler).await;
    world.database.run(TRACES).await;
    // Others, which may be settled in the same transaction, do not suffer.
    let mut others = Vec::new();
    let wrong = send(&app, push("wrong", 1)).await;
    for n in 0..10 {
        others.push(send(&app, push(&format!("right{n}"), n)).await);
    }
    let (job, attempts) = until_state(&app, wrong, State::Succeeded).await;
    assert_eq!((attempts.len(), &*attempts[0].outcome), (2, "failed"));
    let detail = &attempts[0].detail;
    assert!(detail.starts_with("the handler's writes were refused"), "{detail}");
    assert!(detail.contains("nowhere"), "{detail}");
    for id in others {
        assert_eq!(until_state(&app, id, State::Succeeded).await.1.len(), 1);
    }
    assert_eq!(traces(&world).await, 11);
    let of_wrong = format!("SELECT min(attempt) FROM traces WHERE job = '{}'", job.id);
    assert_eq!(world.database.number(&of_wrong).await, 2, "the row of the first try is not there");
    app.stop().await;
});

both!(a_handler_that_has_lost_its_lease_writes_nothing, |world| async {
    let (opening, open) = watch::channel(false);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let handler = Acting(move |lease: Lease| {
        let mut open = open.clone();
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let _ = open.wait_for(|open| *open).await;
            accepted(vec![trace(&lease)])
        }
    });
    let app = start(&world.database.url(), world.path(), handler).await;
    world.database.run(TRACES).await;
    let id = send(&app, push("one", 1)).await;
    until("the handler to be called", async || (calls.load(Ordering::Relaxed) == 1).then_some(()))
        .await;
    // As if somebody else had claimed it, and died.
    world.database.run("UPDATE jobs SET token = token + 1 WHERE state = 'running'").await;
    opening.send(true).unwrap();
    let (_, attempts) = until_state(&app, id, State::Succeeded).await;
    let outcomes: Vec<_> = attempts.iter().map(|attempt| &*attempt.outcome).collect();
    assert_eq!(outcomes, ["uncertain", "accepted"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(traces(&world).await, 1);
    assert_eq!(world.database.number("SELECT max(attempt) FROM traces").await, 2);
    app.stop().await;
});

/// Not a test: the program that the next one starts and kills.
#[test]
#[ignore = "is started by killed_again_and_again_every_handler_has_written_once"]
fn a_program_with_a_handler() {
    let Ok(url) = std::env::var("POSTHOUSE_IT_URL") else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let handler = Acting(|lease: Lease| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            accepted(vec![trace(&lease)])
        });
        let directory = std::env::current_dir().unwrap();
        let _app = start(&url, &directory, handler).await;
        std::future::pending::<()>().await;
    });
}

fn program(world: &World) -> Child {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "worker_handler::a_program_with_a_handler", "--ignored"]);
    program.current_dir(world.path()).env("POSTHOUSE_IT_URL", world.database.url());
    let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    guard::kill_at_end(child.id());
    child
}

both!(killed_again_and_again_every_handler_has_written_once, |world| async {
    const JOBS: i64 = 300;
    let receiver = world.posthouse(&text()).args(["serve", "--role", "receiver"]);
    let mut receiver = receiver.serve().await;
    world.database.run(TRACES).await;
    for n in 0..JOBS {
        let branch = format!("lane{}", n % 30);
        let request = push(&branch, usize::try_from(n).unwrap());
        assert_eq!(receiver.post("github", request).await.status, 200);
    }
    receiver.stop().await;
    for reached in [40, 120, 200, JOBS] {
        let mut child = program(&world);
        until("the program to get on", async || (traces(&world).await >= reached).then_some(()))
            .await;
        child.kill().unwrap();
        child.wait().unwrap();
        guard::forget(child.id());
        let done = "SELECT count(*) FROM jobs WHERE state = 'succeeded'";
        let rows = traces(&world).await;
        assert_eq!(world.database.number(done).await, rows, "neither without the other");
    }
    assert_eq!(traces(&world).await, JOBS);
    assert_eq!(world.database.number("SELECT count(DISTINCT job) FROM traces").await, JOBS);
    let broken_off = "SELECT count(*) FROM attempts WHERE outcome = 'uncertain'";
    assert!(world.database.number(broken_off).await > 0, "it was killed at work");
});

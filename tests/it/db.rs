//! Databases in use by others: locked, contended, short of connections, particular about bytes.

use crate::harness::*;
use serde_json::json;
use std::time::{Duration, Instant};

/// Sends deliveries at once, and returns the answers with how long each took.
async fn timed(
    server: &Server,
    requests: impl IntoIterator<Item = Request>,
) -> Vec<(Response, Duration)> {
    let mut sending = tokio::task::JoinSet::new();
    for request in requests {
        let (to, request) = (server.public(), request.to("/hooks/github"));
        sending.spawn(async move {
            let begun = Instant::now();
            let mut wire = Wire::connect(to).await.expect("the server listens");
            (wire.exchange(&request).await.expect("an answer"), begun.elapsed())
        });
    }
    sending.join_all().await
}

fn slowest(answers: &[(Response, Duration)]) -> Duration {
    answers.iter().map(|(_, took)| *took).max().unwrap()
}

#[test]
fn a_foreign_writer_on_the_sqlite_file_delays_and_refuses_nobody() {
    run(Engine::Sqlite, async |world| {
        let stub = Stub::ok().await;
        let server = world.serve(&straight("github", &stub)).await;
        let mut other = world.database.connect().await;
        for round in 0..2 {
            other.run("BEGIN IMMEDIATE").await;
            let requests = (0..50).map(|n| push(&format!("branch{n}"), round * 50 + n));
            let releasing = async {
                // Commands that only read work beside it.
                let listed = server.cli(["deliveries", "list"]).run().await;
                assert_eq!(listed.code, Some(0), "{}", listed.errors);
                tokio::time::sleep(Duration::from_secs(2)).await;
                other.run("COMMIT").await;
            };
            let (answers, ()) = tokio::join!(timed(&server, requests), releasing);
            for (answer, took) in &answers {
                assert_eq!(answer.status, 200, "after {took:?}: {}", answer.text());
            }
            assert!(slowest(&answers) >= Duration::from_secs(2), "{:?}", slowest(&answers));
            assert!(slowest(&answers) < Duration::from_secs(5), "{:?}", slowest(&answers));
        }
        server.settled().await;
        assert_eq!((stub.calls(), server.deliveries("").await.len()), (100, 100));
    });
}

#[test]
fn a_sqlite_file_that_stays_locked_is_our_fault_and_nothing_is_lost() {
    run(Engine::Sqlite, async |world| {
        let stub = Stub::ok().await;
        let server = world.serve(&straight("github", &stub)).await;
        assert_eq!(server.post("github", push("one", 0)).await.status, 200);
        server.settled().await;
        let mut other = world.database.connect().await;
        other.run("BEGIN IMMEDIATE").await;
        let requests = || (1..=10).map(|n| push("one", n));
        let answers = timed(&server, requests()).await;
        for (answer, took) in &answers {
            assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{took:?}");
        }
        assert!(slowest(&answers) < Duration::from_secs(15), "{:?}", slowest(&answers));
        let ready = server.admin_exchange(&Request::new("GET", "/readyz")).await;
        assert_eq!(ready.status, 503);
        other.run("COMMIT").await;
        assert_eq!(world.database.number("SELECT count(*) FROM deliveries").await, 1);
        for request in requests() {
            let answer = server.post("github", request).await;
            assert_eq!(answer.json()["status"], "accepted");
        }
        server.settled().await;
        assert_eq!(stub.calls(), 11);
        until("the server to be ready again", async || {
            let ready = server.admin_exchange(&Request::new("GET", "/readyz")).await;
            (ready.status == 200).then_some(())
        })
        .await;
    });
}

#[test]
fn whoever_reads_sqlite_for_long_holds_up_no_commit_and_the_log_starts_over_afterwards() {
    run(Engine::Sqlite, async |world| {
        let server = world.serve(&logged("github")).await;
        let Database::Sqlite(file) = &world.database else { panic!("a file") };
        let log = format!("{}-wal", file.display());
        let log_bytes = || std::fs::metadata(&log).expect("the log").len();
        // Nothing that compresses well: the log has to grow.
        let large = |n: u32| {
            let noise: String =
                (0..1500).map(|_| format!("{:016x}", rand::random::<u64>())).collect();
            github(&format!("7d3c00b0-{n}"), format!("{{\"x\":\"{noise}\"}}")).to("/hooks/github")
        };
        server.post("github", github("7d3c00b1", "{}")).await;
        let mut reader = world.database.connect().await;
        reader.run("BEGIN; SELECT count(*) FROM deliveries").await;
        for round in 0.. {
            let burst = (0..200).map(|n| large(round * 200 + n)).collect();
            let answers = send_all(server.public(), burst, 16, Default::default()).await;
            assert!(answers.iter().flatten().all(|answer| answer.status == 200));
            if log_bytes() > 40 << 20 {
                break;
            }
        }
        for n in 0..10 {
            let answers = timed(&server, [large(100_000 + n)]).await;
            assert_eq!(answers[0].0.status, 200);
            assert!(slowest(&answers) < Duration::from_secs(2), "{:?}", slowest(&answers));
        }
        reader.run("COMMIT").await;
        let grown = log_bytes();
        for round in 500..503 {
            let burst = (0..200).map(|n| large(round * 200 + n)).collect();
            send_all(server.public(), burst, 16, Default::default()).await;
        }
        assert!(log_bytes() < grown + (8 << 20), "the log of {grown} bytes went on growing");
    });
}

#[test]
fn serialization_failures_of_postgres_are_tried_again_and_shown_to_nobody() {
    run(Engine::Postgres, async |world| {
        let name = world.database.url().rsplit_once('/').unwrap().1.to_owned();
        let serializable = "SET default_transaction_isolation = 'serializable'";
        let cluster = world.cluster.clone().unwrap();
        cluster.run(&format!("ALTER DATABASE {name} {serializable}")).await;
        let stub = Stub::ok().await;
        let config = "[workers]\nconcurrency = 8\n".to_owned() + &straight("github", &stub) + SOON;
        let first = world.serve(&config).await;
        let second = world.posthouse(&config).within("second").serve().await;
        assert_eq!(first.post("github", push("old", 0)).await.status, 200);
        first.settled().await;
        let old = first.only_delivery().await["id"].as_str().unwrap().to_owned();
        let sending = async {
            let half =
                |odd: usize| (0..150).map(move |n| push(&format!("lane{}", n % 20), 2 * n + odd));
            tokio::join!(timed(&first, half(0)), timed(&second, half(1)))
        };
        // Operators may be told to try again; senders may not.
        let operating = async {
            for _ in 0..5 {
                for command in [["prune", "--dry-run"], ["replay", &old], ["jobs", "list"]] {
                    let ran = second.cli(command).run().await;
                    assert!([Some(0), Some(1)].contains(&ran.code), "{ran:?}");
                }
            }
        };
        let ((one, other), ()) = tokio::join!(sending, operating);
        for (answer, _) in one.iter().chain(&other) {
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let jobs = first.settled().await;
        assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
        assert_eq!(first.deliveries("").await.len(), 301);
        by_lane(&stub.received());
    });
}

#[test]
fn slow_destinations_do_not_take_the_connections_from_the_senders() {
    run(Engine::Postgres, async |world| {
        let gate = Gate::closed();
        let stub = Stub::start([Answer::ok().behind(&gate)]).await;
        let config = "[store]\nconnections = 5\n[workers]\nconcurrency = 20\n".to_owned();
        let server = world.serve(&(config + &straight("github", &stub))).await;
        let requests = |range: std::ops::Range<usize>| {
            range.map(|n| github(&format!("7d3c0074-{n}"), format!("{{\"m\":{n}}}")))
        };
        timed(&server, requests(0..20)).await;
        stub.until(20).await;
        let answers = timed(&server, requests(20..70)).await;
        assert!(answers.iter().all(|(answer, _)| answer.status == 200));
        // The case says 500 ms; other tests run beside this one.
        assert!(slowest(&answers) < Duration::from_secs(2), "{:?}", slowest(&answers));
        let held = stub.received();
        assert!(
            held.len() == 20 && held.iter().all(|one| one.ended.is_none()),
            "all 20 still hang"
        );
        gate.open();
        server.settled().await;
        assert_eq!(stub.calls(), 70);
    });
}

both!(a_nul_in_a_body_is_a_byte_like_any_other, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let escaped = r#"{"comment":{"diff_hunk":"@@ -1 +1 @@\n-a\u0000b","body":"x"}}"#;
    assert_eq!(
        digest(escaped.as_bytes()),
        "7d421a372dbb3a7cce3d29379a32466118359546f85566f95afe9bc9a66cff5a"
    );
    // In what the lane is made of, in what is no text at all, and raw.
    let lane = r#"{"ref":"refs/heads/a\u0000b","repository":{"id":7}}"#;
    let bodies = [escaped.as_bytes(), lane.as_bytes(), b"\0\0\xff\0", b"{\"a\":\"\0\"}"];
    let mut entities = Vec::new();
    for (n, body) in bodies.into_iter().enumerate() {
        let answer = server.post("github", github(&format!("7d3c0076-{n}"), body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let id = answer.json()["delivery"].as_str().unwrap().to_owned();
        assert_eq!(server.body(&id).await, body);
        assert_eq!(stub.until(n + 1).await[n].body, body);
        entities.push(server.delivery(&id).await["delivery"]["entity"].clone());
        server.settled().await;
    }
    assert_eq!(entities, [json!(null), json!(lane_of("ab")), json!(null), json!(null)]);
});

#[test]
fn a_link_to_the_sqlite_file_leads_to_its_log_too() {
    run(Engine::Sqlite, async |world| {
        let Database::Sqlite(link) = &world.database else { unreachable!() };
        let disk = link.parent().unwrap().with_file_name("disk");
        let real = disk.join("ledger.db");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::fs::create_dir_all(&disk).unwrap();
        std::os::unix::fs::symlink(&real, link).unwrap();
        let server = world.serve(&logged("github")).await;
        let size = |path: &std::path::Path| path.metadata().map_or(0, |found| found.len());
        let empty = size(&real);
        // Digits of powers, which no compression makes much smaller.
        let noise =
            |n: u64| (0..2500).map(move |k| format!("{:016x}", (n + 7 * k + 3).wrapping_pow(9)));
        let bodies = (0..400).map(|n| json!({ "noise": noise(n).collect::<String>() }));
        let requests =
            bodies.enumerate().map(|(n, body)| github(&format!("7d-{n}"), body.to_string()));
        for (answer, _) in timed(&server, requests).await {
            assert_eq!(answer.status, 200);
        }
        assert!(size(&disk.join("ledger.db-wal")) > 0, "the log is beside the file");
        // A log that nobody finds is never moved into the file.
        until("the log to be moved", async || (size(&real) > empty + (1 << 20)).then_some(()))
            .await;
    });
}

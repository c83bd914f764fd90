//! PostgreSQL is stopped, crashed, cut off and made read-only while deliveries come in.
//!
//! Every case has a cluster of its own to torment.

use crate::harness::*;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A case on a cluster of its own.
fn on_a_cluster(case: impl AsyncFnOnce(World, Arc<Cluster>)) {
    run(Engine::Postgres, async |_| {
        let cluster = tokio::task::spawn_blocking(Cluster::private).await.unwrap();
        case(World::within(cluster.clone()).await, cluster).await;
    });
}

/// Does what takes a while without holding up the others.
async fn with(cluster: &Arc<Cluster>, act: fn(&Cluster)) {
    let cluster = cluster.clone();
    tokio::task::spawn_blocking(move || act(&cluster)).await.unwrap();
}

/// Ends all connections of the program, as an administrator or a failover would.
async fn terminate(cluster: &Cluster) {
    let of_ours = "application_name = 'posthouse'";
    cluster
        .run(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {of_ours}"))
        .await;
}

#[test]
fn a_postgres_that_falls_silent_is_given_up_on_and_the_sender_is_told() {
    on_a_cluster(async |world, _| {
        let server = world.serve(&logged("github")).await;
        server.post("github", github("7d3c00c0", "{}")).await;
        server.settled().await;
        // Paused, its connections stay open and say nothing, as behind a cut wire.
        let mut other = world.database.connect().await;
        let ours = "FROM pg_stat_activity WHERE application_name = 'posthouse'";
        let mut paused = Vec::new();
        for at in 0..other.number(&format!("SELECT count(*) {ours}")).await {
            let pid = format!("SELECT pid::bigint {ours} ORDER BY pid OFFSET {at} LIMIT 1");
            paused.push(Pid::from_raw(i32::try_from(other.number(&pid).await).unwrap()));
        }
        paused.iter().for_each(|pid| kill(*pid, Signal::SIGSTOP).unwrap());
        let begun = Instant::now();
        let answer = server.post("github", github("7d3c00c1", "{}")).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
        paused.iter().for_each(|pid| kill(*pid, Signal::SIGCONT).unwrap());
        assert_eq!(server.post("github", github("7d3c00c1", "{}")).await.status, 200);
        server.settled().await;
        assert_eq!(server.deliveries("").await.len(), 2);
    });
}

#[test]
fn stopped_crashed_and_cut_off_in_the_middle_of_a_burst_nothing_answered_is_lost() {
    const BURST: usize = 1500;
    on_a_cluster(async |world, cluster| {
        let stub = Stub::ok().await;
        let leases = "[workers]\nlease = \"1s\"\npoll = \"50ms\"\n".to_owned();
        let server = world.serve(&(leases + &straight("github", &stub) + SOON)).await;
        let nth = |n: usize| push(&format!("lane{}", n % 30), n).to("/hooks/github");
        let heard = Arc::new(AtomicUsize::new(0));
        let answered = async |count: usize| {
            until("answers", async || (heard.load(Ordering::Relaxed) >= count).then_some(())).await;
        };
        let requests = (0..BURST).map(nth).collect();
        let sending = tokio::spawn(send_all(server.public(), requests, 16, heard.clone()));
        answered(BURST / 8).await;
        terminate(&cluster).await;
        answered(BURST * 2 / 8).await;
        with(&cluster, Cluster::stop).await;
        with(&cluster, Cluster::start).await;
        answered(BURST * 4 / 8).await;
        with(&cluster, Cluster::crash).await;
        with(&cluster, Cluster::start).await;
        answered(BURST * 6 / 8).await;
        terminate(&cluster).await;
        let answers = sending.await.unwrap();

        let (mut accepted, mut again) = (HashSet::new(), Vec::new());
        for (n, answer) in answers.iter().enumerate() {
            let answer = answer.as_ref().expect("the server itself is always there");
            match answer.status {
                200 => accepted.insert(answer.json()["delivery"].as_str().unwrap().to_owned()),
                status => {
                    assert_eq!((status, answer.header("retry-after")), (503, Some("5")));
                    again.push(nth(n));
                    true
                }
            };
        }
        let jobs = server.settled().await;
        let done: HashSet<String> = jobs
            .iter()
            .filter(|job| job["state"] == "succeeded")
            .map(|job| job["delivery"].as_str().unwrap().to_owned())
            .collect();
        let lost: Vec<_> = accepted.difference(&done).collect();
        assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), accepted.len());
        // At least one batch was under way in one of the interruptions.
        assert!(!again.is_empty(), "nothing was interrupted");
        for answer in send_all(server.public(), again, 16, heard.clone()).await {
            assert_eq!(answer.expect("an answer").status, 200);
        }
        server.settled().await;
        assert_eq!(server.deliveries("").await.len(), BURST);
        let keys: HashSet<String> = keys_of(&stub.received()).into_iter().collect();
        assert_eq!(keys.len(), BURST);
        by_lane(&stub.received());
    });
}

#[test]
fn crashed_right_after_each_answer_the_deliveries_are_there() {
    on_a_cluster(async |world, cluster| {
        let server = world.serve(&logged("github")).await;
        let mut accepted = Vec::new();
        for n in 0..4 {
            // The first answers after a crash may be that the store is not there.
            let answer = until("a delivery to be accepted", async || {
                let answer = server.post("github", push("one", n)).await;
                assert!([200, 503].contains(&answer.status), "{}", answer.text());
                (answer.status == 200).then_some(answer)
            })
            .await;
            with(&cluster, Cluster::crash).await;
            accepted.push(answer.json()["delivery"].as_str().unwrap().to_owned());
            with(&cluster, Cluster::start).await;
        }
        until("the server to find its database again", async || {
            (server.ask("GET", "/api/deliveries", None).await.status == 200).then_some(())
        })
        .await;
        let there = server.deliveries("").await;
        let there: Vec<_> = there.iter().rev().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(there, accepted);
        let jobs = server.settled().await;
        assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    });
}

#[test]
fn a_database_that_only_reads_is_told_from_one_that_is_well() {
    on_a_cluster(async |world, cluster| {
        let stub = Stub::ok().await;
        let server = world.serve(&straight("github", &stub)).await;
        let ready = async || server.admin_exchange(&Request::new("GET", "/readyz")).await;
        assert_eq!(server.post("github", push("one", 0)).await.status, 200);
        server.settled().await;
        assert_eq!(ready().await.status, 200);

        cluster.run("ALTER SYSTEM SET default_transaction_read_only = on").await;
        cluster.run("SELECT pg_reload_conf()").await;
        let answer = until("the server to notice", async || {
            Some(ready().await).filter(|answer| answer.status == 503)
        })
        .await;
        assert_eq!(answer.json()["checks"]["store"], "cannot be written to");
        for n in 1..=10 {
            let answer = server.post("github", push("one", n)).await;
            assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        }
        assert_eq!(server.admin_exchange(&Request::new("GET", "/healthz")).await.status, 200);
        assert_eq!(server.deliveries("").await.len(), 1, "reading works meanwhile");

        cluster.run("ALTER SYSTEM RESET default_transaction_read_only").await;
        cluster.run("SELECT pg_reload_conf()").await;
        until("the server to be ready again", async || (ready().await.status == 200).then_some(()))
            .await;
        for n in 1..=10 {
            let answer = server.post("github", push("one", n)).await.json();
            assert_eq!(answer["status"], "accepted");
        }
        server.settled().await;
        assert_eq!(stub.calls(), 11);
        assert_eq!(server.deliveries("").await.len(), 11);
    });
}

#[test]
fn a_server_outlives_its_database_and_says_so() {
    on_a_cluster(async |world, cluster| {
        let (stub, gate) = (Stub::ok().await, Gate::closed());
        stub.when("slow", [Answer::ok().behind(&gate)]);
        let server = world.serve(&straight("github", &stub)).await;
        assert_eq!(server.post("github", push("slow", 1)).await.status, 200);
        stub.until(1).await;
        with(&cluster, Cluster::stop).await;
        let answer = server.post("github", push("one", 1)).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        let ready = server.admin_exchange(&Request::new("GET", "/readyz")).await;
        assert_eq!(ready.status, 503);
        // The answer of the destination comes while there is nobody to write it down.
        gate.open();
        until("the attempt to be answered", async || stub.received()[0].ended.map(|_| ())).await;
        with(&cluster, Cluster::start).await;
        until("deliveries to be taken again", async || {
            (server.post("github", push("one", 1)).await.status == 200).then_some(())
        })
        .await;
        let jobs = server.settled().await;
        assert!(jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
        assert!(jobs.iter().all(|job| job["attempt_count"] == 1), "{jobs:#?}");
        assert_eq!(stub.calls(), 2, "it was remembered, and not done again");
    });
}

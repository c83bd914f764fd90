//! What becomes of jobs, lanes and destinations raises an alarm once, and clears it.

use crate::harness::*;

async fn send(server: &Server, request: Request) -> String {
    let answer = server.post("github", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["delivery"].as_str().unwrap().to_owned()
}

async fn cli<const N: usize>(server: &Server, arguments: [&str; N]) -> String {
    let ran = server.cli(arguments).run().await;
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.errors);
    ran.output
}

both!(dead_jobs_are_one_alarm_until_none_is_dead, |world| async {
    let ops = Stub::ok().await;
    let no = Answer::status(400);
    let stub = Stub::start([no.clone(), no.clone(), Answer::ok(), Answer::ok(), no]).await;
    let server = world.serve(&(watchful(&ops) + &straight("github", &stub))).await;
    let one = send(&server, push("one", 1)).await;
    until_told(&ops, &["raised dead github-out/refused"]).await;
    let first = notice(&ops.received()[0]);
    assert_eq!((&first["count"], &first["detail"]), (&1.into(), &dead(&one).into()));
    server.said(&format!("ALARM dead github-out/refused: {}", dead(&one))).await;
    assert_eq!(server.metric("posthouse_alarms{cause=\"dead\"}").await, 1.0);
    assert_eq!(server.metric("posthouse_alarms{cause=\"halted\"}").await, 0.0);

    // More of the same is no news; it is counted, when the alarm is confirmed.
    let two = send(&server, push("two", 2)).await;
    server.settled().await;
    world.database.run("UPDATE alarms SET last_us = 1").await;
    until("the count", async || {
        let alarm = server.get("/api/alarms").await["items"][0].clone();
        (alarm["count"] == 2 && alarm["detail"] == dead(&two)).then_some(())
    })
    .await;
    let shown = cli(&server, ["alarms"]).await;
    assert!(shown.contains("dead   github-out/refused") && shown.contains("ALARM"), "{shown}");
    server.looked(&world).await;
    assert_eq!(told(&ops), ["raised dead github-out/refused"]);
    assert_eq!(server.lines_with("ALARM dead"), 1);

    for delivery in [&one, &two] {
        cli(&server, ["jobs", "retry", &format!("{delivery}-0")]).await;
    }
    let [raised, cleared] = ["raised", "cleared"].map(|s| format!("{s} dead github-out/refused"));
    until_told(&ops, &[&raised, &cleared]).await;
    server.said("ALARM CLEARED dead github-out/refused").await;
    assert_eq!(server.alarms().await, [""; 0]);
    until("the metric to fall", async || {
        (server.metric("posthouse_alarms{cause=\"dead\"}").await == 0.0).then_some(())
    })
    .await;

    send(&server, push("three", 3)).await;
    until_told(&ops, &[&raised, &cleared, &raised]).await;
    let again = ops.received().into_iter().map(|one| notice(&one));
    let since: Vec<_> = again
        .filter(|notice| notice["alarm"] == "dead")
        .map(|notice| notice["since"].to_string())
        .collect();
    assert!(since[0] == since[1] && since[1] < since[2], "{since:?}");
    assert_eq!(server.lines_with("ALARM dead"), 2);
});

fn dead(delivery: &str) -> String {
    format!("job {delivery}-0: 400 Bad Request")
}

both!(each_fault_of_a_route_is_an_alarm_of_its_own, |world| async {
    let stub = Stub::start([Answer::status(400)]).await;
    stub.when("gone", [Answer::close()]);
    let config = WATCHFUL.to_owned() + &straight("github", &stub) + "max_attempts = 1\n";
    let server = world.serve(&config).await;
    send(&server, push("one", 1)).await;
    let gone = send(&server, push("gone", 2)).await;
    server.until_alarms(&["dead github-out/refused", "dead github-out/unreachable"]).await;
    cli(&server, ["jobs", "cancel", &format!("{gone}-0")]).await;
    server.until_alarms(&["dead github-out/refused"]).await;
});

both!(a_doubt_and_the_lane_that_it_halts_are_told_and_cleared, |world| async {
    let (ops, stub) = (Stub::ok().await, Stub::start([Answer::close()]).await);
    let config = watchful(&ops) + &source("github") + &out(&stub) + "idempotent = false\n";
    let config = config + &route("github", "out") + "on_uncertain = \"halt\"\n";
    let server = world.serve(&config).await;
    let mut expected = Vec::new();
    for n in 1..=2 {
        let id = send(&server, push("one", n)).await;
        server.until_alarms(&["halted github-out", "uncertain github-out"]).await;
        let alarms = server.get("/api/alarms").await["items"].to_string();
        let lane = format!("lane {} stands still behind job {id}-0", lane_of("one"));
        assert!(alarms.contains(&lane), "{alarms}");
        cli(&server, ["jobs", "resolve", &format!("{id}-0"), "--succeeded"]).await;
        server.until_alarms(&[]).await;
        for state in ["raised", "cleared"] {
            expected.extend([format!("{state} halted github-out")]);
            expected.extend([format!("{state} uncertain github-out")]);
        }
        let mut sorted = expected.clone();
        sorted.sort();
        until("all to be told", async || {
            let mut told = told(&ops);
            told.sort();
            (told == sorted).then_some(())
        })
        .await;
    }
    server.until_lines("ALARM halted github-out", 2).await;
    server.until_lines("ALARM CLEARED uncertain github-out", 2).await;
});

both!(a_circuit_is_one_alarm_until_it_closes, |world| async {
    let ops = Stub::ok().await;
    let server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    open_circuit(&world, "log").await;
    until_told(&ops, &["raised circuit log"]).await;
    let detail = notice(&ops.received()[0])["detail"].to_string();
    assert!(detail.contains("open since") && detail.contains("5 of 5 failed"), "{detail}");
    world.database.run("UPDATE circuits SET state = 'half_open'").await;
    server.looked(&world).await;
    assert_eq!(told(&ops), ["raised circuit log"]);
    close_circuit(&world, "log").await;
    until_told(&ops, &["raised circuit log", "cleared circuit log"]).await;
    open_circuit(&world, "log").await;
    until_told(&ops, &["raised circuit log", "cleared circuit log", "raised circuit log"]).await;
});

both!(only_a_job_that_could_run_is_too_old, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("heads/first", [Answer::ok().behind(&gate)]);
    let config = "[workers]\nconcurrency = 1\n".to_owned() + WATCHFUL + "oldest = \"1s\"\n";
    let server = world.serve(&(config + &straight("github", &stub))).await;
    send(&server, push("first", 1)).await;
    stub.until(1).await;
    let entity = lane_of("second");
    cli(&server, ["pause", "lane", "github-out", &entity]).await;
    send(&server, push("second", 2)).await;
    world.database.run("UPDATE jobs SET due_us = due_us - 600000000 WHERE due_us > 0").await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, [""; 0], "its lane is paused");
    cli(&server, ["resume", "lane", "github-out", &entity]).await;
    let late = ["oldest github-out"];
    server.until_alarms(&late).await;
    cli(&server, ["pause", "route", "github-out"]).await;
    server.until_alarms(&[]).await;
    cli(&server, ["resume", "route", "github-out"]).await;
    server.looked(&world).await;
    server.until_alarms(&late).await;
    cli(&server, ["pause", "destination", "out"]).await;
    server.until_alarms(&[]).await;
    cli(&server, ["resume", "destination", "out"]).await;
    server.until_alarms(&late).await;
    open_circuit(&world, "out").await;
    server.until_alarms(&["circuit out"]).await;
    close_circuit(&world, "out").await;
    server.until_alarms(&late).await;
    gate.open();
    server.settled().await;
    server.until_alarms(&[]).await;
    server.until_lines("ALARM oldest github-out: a job could run since", 4).await;
    server.until_lines("ALARM CLEARED oldest github-out", 4).await;
});

both!(a_route_that_was_paused_is_given_its_time, |world| async {
    let (stub, gate) = (Stub::ok().await, Gate::closed());
    stub.when("heads/first", [Answer::ok().behind(&gate)]);
    let config = "[workers]\nconcurrency = 1\n".to_owned() + WATCHFUL + "oldest = \"5m\"\n";
    let server = world.serve(&(config + &straight("github", &stub))).await;
    send(&server, push("first", 1)).await;
    stub.until(1).await;
    cli(&server, ["pause", "route", "github-out"]).await;
    send(&server, push("second", 2)).await;
    world.database.run("UPDATE jobs SET due_us = due_us - 600000000 WHERE due_us > 0").await;
    server.looked(&world).await;
    cli(&server, ["resume", "route", "github-out"]).await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, [""; 0]);
    gate.open();
});

both!(a_job_taken_from_a_dead_worker_is_told_and_clears_with_time, |world| async {
    let (ops, gate) = (Stub::ok().await, Gate::closed());
    let stub = Stub::start([Answer::ok().behind(&gate), Answer::ok()]).await;
    let config = "[workers]\nlease = \"1s\"\n".to_owned() + &watchful(&ops);
    let mut server = world.serve(&(config + &straight("github", &stub))).await;
    let id = send(&server, push("one", 1)).await;
    stub.until(1).await;
    server.restart().await;
    until_told(&ops, &["raised takeover github-out"]).await;
    let detail = notice(&ops.received()[0])["detail"].to_string();
    assert!(detail.contains(&format!("job {id}-0 was taken from worker")), "{detail}");
    server.settled().await;
    server.looked(&world).await;
    assert_eq!(server.alarms().await, ["takeover github-out"], "it clears with time alone");
    world.database.run("UPDATE alarms SET clears_us = 1").await;
    until_told(&ops, &["raised takeover github-out", "cleared takeover github-out"]).await;
    assert_eq!(server.lines_with("ALARM CLEARED takeover github-out"), 1);
});

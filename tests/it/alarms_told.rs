//! Alarms are told once, whoever is at it, and in the end they are told: to the log and to an HTTP
//! endpoint that is slow, down or strange.

use crate::harness::*;
use std::collections::BTreeMap;
use std::time::Duration;

both!(two_processes_tell_each_alarm_once, |world| async {
    // While one waits for the answer the other one looks.
    let ops = Stub::start([Answer::ok().after(Duration::from_millis(30))]).await;
    let config = watchful(&ops) + &logged("github");
    let first = world.serve(&config).await;
    let second = world.posthouse(&config).args(["serve", "--role", "receiver"]).within("second");
    let second = second.serve().await;
    let names: Vec<String> = (0..20).map(|n| format!("d{n:02}")).collect();
    for round in 1..=2 {
        for name in &names {
            open_circuit(&world, name).await;
        }
        until("all to be told", async || (told(&ops).len() >= 40 * round - 20).then_some(())).await;
        world.database.run("DELETE FROM circuits").await;
        until("all ends to be told", async || (told(&ops).len() >= 40 * round).then_some(())).await;
    }
    for server in [&first, &second] {
        server.looked(&world).await;
    }
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for line in told(&ops) {
        *counted.entry(line).or_default() += 1;
    }
    assert_eq!(counted.len(), 40, "{counted:#?}");
    assert!(counted.values().all(|count| *count == 2), "{counted:#?}");
    for name in &names {
        for text in [format!("ALARM circuit {name}"), format!("ALARM CLEARED circuit {name}")] {
            let lines = first.lines_with(&text) + second.lines_with(&text);
            assert_eq!(lines, 2, "{text}");
        }
    }
});

both!(an_endpoint_that_is_down_is_told_later_and_holds_up_nobody, |world| async {
    let (ops, elsewhere) = (Stub::ok().await, Stub::ok().await);
    let away = Answer::status(302).header("Location", &elsewhere.url());
    ops.when("\"slow\"", [Answer::status(503), away, Answer::close(), Answer::ok()]);
    let server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    open_circuit(&world, "slow").await;
    server.said("ALARM circuit slow").await;
    ops.until(1).await;
    open_circuit(&world, "quick").await;
    let told_of = |name: &str| {
        let all = ops.received().into_iter();
        all.filter(|one| notice(one)["subject"] == *name).collect::<Vec<_>>()
    };
    until("the other one to be told", async || (!told_of("quick").is_empty()).then_some(())).await;
    assert!(told_of("slow").len() < 4, "it was not waited for");
    until("the fourth try", async || (told_of("slow").len() == 4).then_some(())).await;
    let tries = told_of("slow");
    assert!(tries.iter().all(|one| one.body == tries[0].body), "the same every time");
    let key = |received: &Received| received.header("idempotency-key").expect("a key");
    assert!(tries.iter().all(|one| key(one) == key(&tries[0])), "by the same key");
    assert_ne!(key(&tries[0]), key(&told_of("quick")[0]));
    assert_eq!(elsewhere.calls(), 0, "redirects are not followed");
    server.looked(&world).await;
    assert_eq!(told_of("slow").len(), 4, "it has arrived");
    assert_eq!(server.lines_with("ALARM circuit slow"), 1, "the log has been told long ago");
});

both!(an_end_is_told_to_those_who_may_know_the_beginning, |world| async {
    let ops = Stub::ok().await;
    ops.when("\"never\"", [Answer::status(503)]);
    ops.when("\"perhaps\"", [Answer::close(), Answer::ok()]);
    let server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    for name in ["never", "perhaps"] {
        open_circuit(&world, name).await;
        until("a try", async || told(&ops).iter().any(|s| s.ends_with(name)).then_some(())).await;
    }
    // What the endpoint has refused it does not know; what broke off it may know.
    until("the refusal to be noted", async || {
        let text = "SELECT count(*) FROM alarms WHERE subject = 'never' AND sent = 0";
        (world.database.number(text).await == 1).then_some(())
    })
    .await;
    world.database.run("DELETE FROM circuits").await;
    server.said("ALARM CLEARED circuit never").await;
    server.said("ALARM CLEARED circuit perhaps").await;
    let rows = "SELECT count(*) FROM alarms";
    until("nothing to be left", async || (world.database.number(rows).await == 0).then_some(()))
        .await;
    let told = told(&ops);
    assert!(!told.contains(&"cleared circuit never".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "cleared circuit perhaps");
});

both!(what_begins_again_before_its_end_was_told_is_told_again, |world| async {
    let ops = Stub::ok().await;
    ops.when("\"flaps\"", [Answer::ok(), Answer::status(503), Answer::ok()]);
    let server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    let [raised, cleared] = ["raised circuit flaps", "cleared circuit flaps"];
    open_circuit(&world, "flaps").await;
    until_told(&ops, &[raised]).await;
    close_circuit(&world, "flaps").await;
    until_told(&ops, &[raised, cleared]).await;
    server.said("ALARM CLEARED circuit flaps").await;
    // The endpoint did not take the end, and is to be told of it again, and now it is none.
    open_circuit(&world, "flaps").await;
    until_told(&ops, &[raised, cleared, raised]).await;
    let since: Vec<_> = ops.received().iter().map(|one| notice(one)["since"].clone()).collect();
    assert!(since[0] == since[1] && since[1] != since[2], "{since:?}");
    server.until_lines("ALARM circuit flaps", 2).await;
    close_circuit(&world, "flaps").await;
    until_told(&ops, &[raised, cleared, raised, cleared]).await;
});

both!(a_process_killed_while_it_tells_is_spoken_for, |world| async {
    let (ops, gate) = (Stub::ok().await, Gate::closed());
    ops.when("\"out\"", [Answer::ok().behind(&gate), Answer::ok()]);
    let config = watchful(&ops) + "timeout = \"1s\"\n" + &logged("github");
    let mut server = world.serve(&config).await;
    open_circuit(&world, "out").await;
    // The endpoint has it, and the process dies before it hears so.
    ops.until(1).await;
    assert_eq!(server.lines_with("ALARM circuit out"), 1);
    server.restart().await;
    until_told(&ops, &["raised circuit out", "raised circuit out"]).await;
    let received = ops.received();
    let key = |received: &Received| received.header("idempotency-key").expect("a key");
    assert_eq!(key(&received[0]), key(&received[1]));
    assert_eq!(server.lines_with("ALARM circuit out"), 0, "the log had it before");
});

both!(a_process_killed_before_it_tells_the_log_is_spoken_for, |world| async {
    let ops = Stub::ok().await;
    let mut server = world.serve(&(watchful(&ops) + &logged("github"))).await;
    server.kill();
    // As the table stands when one has raised, and another has raised and begun to tell.
    for name in ["one", "two"] {
        open_circuit(&world, name).await;
    }
    let now_us = now() * 1_000_000;
    let until_us = now_us + 4_000_000;
    world
        .database
        .run(&format!(
            "INSERT INTO alarms (cause, subject, raised_us, last_us, count, detail,
                telling_until_us)
             VALUES ('circuit', 'one', 7, {now_us}, 1, 'kept', NULL),
                ('circuit', 'two', 8, {now_us}, 1, 'kept', {until_us})"
        ))
        .await;
    server.restart().await;
    server.said("ALARM circuit one: kept").await;
    assert_eq!(server.lines_with("ALARM circuit two"), 0, "somebody may be at it");
    server.said("ALARM circuit two: kept").await;
    until_told(&ops, &["raised circuit one", "raised circuit two"]).await;
    assert_eq!(server.lines_with("ALARM circuit"), 2);
});

both!(an_endpoint_gets_configured_headers_and_private_ones_are_refused, |world| async {
    let ops = Stub::ok().await;
    let headers = "headers = { Authorization = \"env:DESTINATION_SECRET\" }\n";
    let config = watchful(&ops) + headers + &logged("github");
    let ran = world.posthouse(&config).args(["check"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.errors);
    assert!(ran.output.contains("[alarms]\n") && ran.output.contains("oldest = \"5m\""));
    assert!(!ran.output.contains(DESTINATION), "{}", ran.output);
    let mut server = world.serve(&config).await;
    open_circuit(&world, "one").await;
    let received = ops.until(1).await;
    let header = |name| received[0].header(name);
    assert_eq!(header("authorization").as_deref(), Some(DESTINATION));
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    assert_eq!(received[0].method, "POST");
    server.stop().await;
    let private = config.replace("allow_private = true\n", "");
    let server = world.posthouse(&private).serve().await;
    open_circuit(&world, "two").await;
    server.said("is loopback; set allow_private = true").await;
    assert_eq!(ops.calls(), 1);
    let hidden = format!("{}{}", server.errors(), server.output());
    assert!(!hidden.contains(DESTINATION), "{hidden}");
});

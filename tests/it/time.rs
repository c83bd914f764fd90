//! Time: how old a signature may be, and times with and without zones.

use crate::harness::*;
use std::time::Duration;

/// Waits until the ledger has counted a refusal, and returns all of them.
async fn refusals(server: &Server) -> Vec<serde_json::Value> {
    until("a refusal in the ledger", async || {
        let rows = server.get("/api/rejections").await;
        Some(rows["items"].as_array().unwrap().clone()).filter(|rows| !rows.is_empty())
    })
    .await
}

both!(a_signed_time_may_lie_off_by_the_tolerance_both_ways, |world| async {
    let server = world.serve(&logged("stripe")).await;
    let cases = [(-270, 200), (-330, 401), (270, 200), (3600, 401), (0, 200)];
    for (index, (offset, status)) in cases.iter().enumerate() {
        let body = format!("{{\"id\":\"evt_tol_{index}\",\"type\":\"t\"}}");
        let answer = server.post("stripe", stripe_at(now() + offset, body)).await;
        assert_eq!(answer.status, *status, "{offset} s");
    }
    assert_eq!(server.deliveries("").await.len(), 3);
    let rows = refusals(&server).await;
    assert_eq!((rows.len(), &rows[0]["reason"]), (1, &"timestamp".into()), "{rows:#?}");
    assert_eq!(rows[0]["count"], 2);
});

both!(the_tolerance_is_the_sources_own, |world| async {
    let config = logged("stripe").replace("provider", "tolerance = \"10s\"\nprovider");
    let server = world.serve(&config).await;
    let body = r#"{"id":"evt_tol","type":"t"}"#;
    assert_eq!(server.post("stripe", stripe_at(now() - 60, body)).await.status, 401);
    assert_eq!(server.post("stripe", stripe_at(now(), body)).await.status, 200);
});

both!(milliseconds_are_not_a_time_in_the_future, |world| async {
    let server = world.serve(&logged("stripe")).await;
    let times = [now() * 1000, i64::MAX, -1];
    for time in times {
        let body = r#"{"id":"evt_ms_1","type":"t"}"#;
        assert_eq!(server.post("stripe", stripe_at(time, body)).await.status, 401, "{time}");
    }
    let time = "99999999999999999999";
    let body = r#"{"id":"evt_ms_1","type":"t"}"#;
    let signature = sha256_hex(STRIPE, &[time.as_bytes(), b".", body.as_bytes()]);
    let request = stripe(body).with("Stripe-Signature", format!("t={time},v1={signature}"));
    assert_eq!(server.post("stripe", request).await.status, 401, "more than 64 bits hold");
    assert_eq!(server.deliveries("").await.len(), 0);
    let rows = refusals(&server).await;
    assert!(rows.iter().any(|row| row["reason"] == "timestamp"), "{rows:#?}");
});

both!(a_clock_that_is_off_is_told_from_a_wrong_signature, |world| async {
    let server = world.serve(&logged("slack")).await;
    let body = r#"{"type":"event_callback","event_id":"Ev_clk_1"}"#;
    // As if the receiver's clock were twenty minutes behind.
    assert_eq!(server.post("slack", slack_at(now() + 1200, body)).await.status, 401);
    let rows = refusals(&server).await;
    assert_eq!(rows[0]["reason"], "timestamp", "{rows:#?}");
    let detail = rows[0]["detail"].as_str().unwrap();
    assert!(detail.contains("1200") || detail.contains("1199"), "says by how much: {detail}");
    assert!(detail.contains("clock"), "says what may be wrong: {detail}");
    let counted = server.metric(r#"posthouse_rejected_total{reason="timestamp",source="slack"}"#);
    assert_eq!(counted.await, 1.0);
    server.said("timestamp").await;
});

both!(a_filter_by_time_means_the_same_in_every_zone, |world| async {
    let launch = world.posthouse(&logged("github")).env("TZ", "Asia/Kolkata");
    let server = launch.env("PGTZ", "Pacific/Chatham").serve().await;
    assert_eq!(server.post("github", github("7d3c0067", r#"{"n":1}"#)).await.status, 200);
    let received = server.only_delivery().await["received_at"].as_str().unwrap().to_owned();
    assert!(received.ends_with('Z'), "{received}");
    let minute_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(60);
    let offset = jiff::tz::Offset::from_seconds(5 * 3600 + 1800).unwrap();
    let kolkata = minute_ago.display_with_offset(offset).to_string();
    assert!(kolkata.ends_with("+05:30"), "{kolkata}");
    for since in [minute_ago.to_string(), kolkata] {
        let since = since.replace('+', "%2B");
        assert_eq!(server.deliveries(&format!("?since={since}")).await.len(), 1, "{since}");
        assert_eq!(server.deliveries(&format!("?until={since}")).await.len(), 0, "{since}");
    }
    let bare = server.ask("GET", "/api/deliveries?since=2026-03-29T02:30:00", None).await;
    assert_eq!(bare.status, 400, "{}", bare.text());
    let bare = server.cli(["deliveries", "list", "--since", "2026-03-29T02:30:00"]).run().await;
    assert_eq!(bare.code, Some(2), "{bare:?}");
});

both!(a_retry_is_due_after_its_wait_in_any_zone, |world| async {
    let stub = Stub::start([Answer::status(500), Answer::ok()]).await;
    let config = straight("github", &stub) + "backoff = \"10s\"\nbackoff_max = \"10s\"\n";
    let server = world.posthouse(&config).env("TZ", "America/New_York").serve().await;
    assert_eq!(server.post("github", github("7d3c0065", r#"{"n":1}"#)).await.status, 200);
    let job =
        until("the job to wait for its retry", async || server.jobs("?state=retrying").await.pop())
            .await;
    let shown = server.get(&format!("/api/jobs/{}", job["id"].as_str().unwrap())).await;
    let time = |value: &serde_json::Value| -> jiff::Timestamp {
        let text = value.as_str().unwrap();
        assert!(text.ends_with('Z'), "{text}");
        text.parse().unwrap()
    };
    let wait = time(&shown["due_at"]).duration_since(time(&shown["attempts"][0]["ended_at"]));
    let wait = Duration::try_from(wait).expect("it is due later");
    assert!(wait <= Duration::from_secs(10), "{wait:?}");
    assert_eq!(stub.until(2).await.len(), 2);
});

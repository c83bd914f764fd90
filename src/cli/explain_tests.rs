//! The screen of one delivery, as an operator sees it.

use super::*;
use serde_json::json;

const NOW_US: Micros = 1_772_366_400_000_000; // 2026-03-01T12:00:00Z

fn attempt(n: u64, outcome: &str, detail: &str, answer: &str) -> Value {
    json!({ "job": "42-0", "attempt": n, "outcome": outcome, "status": 503,
        "started_at": "2026-03-01T11:00:00Z", "ended_at": "2026-03-01T11:00:00.120Z",
        "worker": "w", "detail": detail, "answer": answer })
}

fn found(job: Value) -> Value {
    json!({
        "delivery": { "id": "42", "source": "github", "key": "k-1", "kind": "issues.opened",
            "entity": "a/b#7", "state": "dead", "received_at": "2026-03-01T10:00:00.5Z",
            "occurred_at": null, "coverage": "body", "repeats": 2, "conflicts": 1,
            "repeated_at": "2026-03-01T11:59:00Z", "body_bytes": 812, "body_kept": true },
        "jobs": [job],
        "operations": [{ "at": "2026-03-01T11:30:00Z", "action": "retry", "subject": "42-0",
            "detail": "dead" }],
    })
}

#[test]
fn a_dead_delivery_says_what_happened_and_what_to_do() {
    let attempts: Vec<_> = (1..=8)
        .map(|n| attempt(n, "failed", "answered 503", "down\u{1b}[2J\nfor repair"))
        .collect();
    let job = json!({ "id": "42-0", "route": "crm", "state": "dead", "attempt_count": 8,
        "reason": "answered 503", "settled_at": "2026-03-01T11:00:01Z", "halts_lane": true,
        "attempts": attempts });
    let expected = "\
delivery 42 from github: issues.opened
  key        k-1
  about      a/b#7
  received   2026-03-01T10:00:00Z (1h 59m ago)
  body       812 bytes
  proof      the signature covers the body
  repeats    2, and 1 with OTHER CONTENT under the same key, refused with 409; last \
2026-03-01T11:59:00Z (1m 0s ago)
  state      dead

job 42-0 on route crm: DEAD
  reason     answered 503
  settled    2026-03-01T11:00:01Z (59m 59s ago)
  HALTS its lane: what comes after it waits
  try again: posthouse jobs retry 42-0
  2 earlier attempts: posthouse jobs show 42-0
  TRY  STARTED               TOOK   OUTCOME  STATUS  DETAIL
  3    2026-03-01T11:00:00Z  120ms  failed   503     answered 503
       answer: down\\u{1b}[2J\\nfor repair
";
    let text = delivery(&found(job), NOW_US);
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.ends_with(
            "\nOPERATOR              DID    TO    NOTE\n2026-03-01T11:30:00Z  retry  42-0  dead\n"
        ),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn an_open_job_says_what_it_waits_for() {
    let told = |job: Value| job_text(&job);
    let waiting = told(json!({ "id": "43-0", "route": "crm", "state": "waiting",
        "behind": { "job": "42-0", "state": "retrying", "reason": "answered 503" } }));
    let expected =
        "waits for  job 42-0, which is before it in its lane and retrying (answered 503)";
    assert!(waiting.contains(expected), "{waiting}");
    let halted = told(json!({ "id": "43-0", "route": "crm", "state": "waiting",
        "behind": { "job": "42-0", "state": "dead", "reason": "answered 400" } }));
    assert!(halted.contains("DEAD (answered 400) and halts the lane: posthouse jobs retry 42-0"));
    let running = told(json!({ "id": "43-0", "route": "crm", "state": "running", "worker": "w",
        "attempt_count": 1, "lease_until": "2026-03-01T12:00:30Z", "attempts": [] }));
    assert!(running.contains("under way  try 1 by w") && !running.contains("forgotten"));
    let retrying = told(json!({ "id": "43-0", "route": "crm", "state": "retrying",
        "due_at": "2026-03-01T12:03:00Z" }));
    assert!(retrying.contains("next try   2026-03-01T12:03:00Z (in 3m 0s)"), "{retrying}");
    let late = json!({ "id": "43-0", "route": "crm", "state": "ready",
        "due_at": "2026-03-01T11:59:00Z" });
    assert!(told(late.clone()).contains("no worker took it"));
    let mut alone = late.clone();
    alone["circuit"] = json!({ "state": "open", "since": "2026-03-01T11:58:00Z",
        "until": "2026-03-01T12:00:20Z", "opens": 2, "reason": "the trial failed: 503" });
    let told_open = told(alone.clone());
    let expected = "its destination's CIRCUIT is open since 2026-03-01T11:58:00Z (2m 0s ago): the \
        trial failed: 503; one job tries it 2026-03-01T12:00:20Z (in 20s)\n";
    assert!(told_open.contains(expected) && !told_open.contains("no worker"), "{told_open}");
    alone["circuit"]["state"] = json!("half_open");
    assert!(told(alone).contains("503; one job tries it now\n"));
    let mut paused = late;
    paused["paused"] = json!({ "scope": "route", "name": "crm", "reason": "answered 410" });
    let paused = told(paused);
    assert!(paused.contains("PAUSED: answered 410; posthouse resume route crm"), "{paused}");
    assert!(!paused.contains("no worker"), "{paused}");
}

fn job_text(value: &Value) -> String {
    job(value, NOW_US)
}

#[test]
fn a_delivery_without_jobs_says_so() {
    let mut found = found(json!({}));
    found["jobs"] = json!([]);
    assert!(delivery(&found, NOW_US).contains("no job: no route took this kind"));
}

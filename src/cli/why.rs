//! Why a job stands where it stands, and what can be done about it, in a few lines.

use super::explain::{field, since};
use super::times::between;
use crate::delivery::Micros;
use serde_json::Value;
use std::time::Duration;

/// A job that may run for longer than this without being taken has no worker.
const UNTAKEN: Duration = Duration::from_secs(10);

/// Why a job stands where it stands, and what can be done about it.
pub(super) fn why(job: &Value, state: &str, now_us: Micros) -> Vec<String> {
    let id = field(job, "id");
    let mut facts = Vec::new();
    if !job["reason"].is_null() {
        let is_open = matches!(state, "waiting" | "ready" | "running" | "retrying");
        let name = if is_open { "last fault" } else { "reason    " };
        facts.push(format!("{name} {}", field(job, "reason")));
    }
    match state {
        "waiting" => facts.push(format!("waits for  {}", ahead(&job["behind"]))),
        "ready" => facts.push(untaken(job, now_us)),
        "retrying" => facts.push(format!("next try   {}", since(job, "due_at", now_us))),
        "running" => {
            let (n, worker) = (field(job, "attempt_count"), field(job, "worker"));
            let until = since(job, "lease_until", now_us);
            facts.push(format!("under way  try {n} by {worker}, lease until {until}"));
        }
        _ => facts.push(format!("settled    {}", since(job, "settled_at", now_us))),
    }
    if job["paused"].is_object() {
        let paused = |name: &str| field(&job["paused"], name);
        let (scope, name) = (
            paused("scope"),
            paused("name").replacen('/', " ", usize::from(paused("scope") == "lane")),
        );
        let reason = paused("reason");
        facts.push(format!("its {scope} is PAUSED: {reason}; posthouse resume {scope} {name}"));
    }
    if job["circuit"].is_object() {
        facts.push(left_alone(&job["circuit"], now_us));
    }
    if job["halts_lane"] == true {
        facts.push("HALTS its lane: what comes after it waits".to_owned());
    }
    if !job["fault"].is_null() {
        facts.push(format!("fault of   {}", blamed(&field(job, "fault"))));
    }
    if let Some(by) = job["superseded_by"].as_str() {
        facts.push(format!("superseded by job {by}, which was later and went first"));
    } else if job["stale"] == true {
        facts.push("STALE: a later event of its lane was processed before it".to_owned());
    }
    match state {
        "dead" => facts.push(format!("try again: posthouse jobs retry {id}")),
        "uncertain" if job["asked_again_at"].is_null() => facts.push(format!(
            "find out whether it happened, then: posthouse jobs resolve {id} --succeeded, \
             --failed or --retry"
        )),
        "uncertain" => {
            facts.push(format!("asks again {}", since(job, "asked_again_at", now_us)));
        }
        _ => {}
    }
    if let Some(old) = job["replays"].as_str() {
        facts.push(format!("replays    job {old}"));
    }
    facts
}

/// Why a job that may run does not: its destination fails.
fn left_alone(circuit: &Value, now_us: Micros) -> String {
    let fact = |name: &str| field(circuit, name);
    let next = match fact("state").as_str() {
        "half_open" => "one job tries it now".to_owned(),
        _ => format!("one job tries it {}", since(circuit, "until", now_us)),
    };
    let (begun, reason) = (since(circuit, "since", now_us), fact("reason"));
    format!("its destination's CIRCUIT is open since {begun}: {reason}; {next}")
}

/// Whose fault it is, in a sentence.
fn blamed(fault: &str) -> &str {
    match fault {
        "refused" => "the destination: it answered, and did not take it",
        "unreachable" => "the destination: it could not be reached, or did not answer",
        "handler" => "the handler or command: it broke on this payload",
        "posthouse" => "Posthouse itself, or its configuration",
        other => other,
    }
}

/// What a waiting job waits for.
fn ahead(head: &Value) -> String {
    let Some(job) = head["job"].as_str() else { return "its turn in its lane".to_owned() };
    let (state, reason) = (field(head, "state"), field(head, "reason"));
    match state.as_str() {
        "dead" => format!(
            "job {job}, which is DEAD ({reason}) and halts the lane: posthouse jobs retry {job}, \
             or cancel {job}"
        ),
        "uncertain" => format!(
            "job {job}, which is UNCERTAIN ({reason}) and halts the lane: posthouse jobs resolve \
             {job}"
        ),
        "retrying" => format!("job {job}, which is before it in its lane and retrying ({reason})"),
        _ => format!("job {job}, which is before it in its lane and {state}"),
    }
}

fn untaken(job: &Value, now_us: Micros) -> String {
    let due = since(job, "due_at", now_us);
    let now = crate::clock::rfc3339(now_us);
    let waited = job["due_at"].as_str().and_then(|due| between(due, &now));
    let is_stopped = job["paused"].is_object() || job["circuit"].is_object();
    let is_late = waited.is_some_and(|waited| waited > UNTAKEN) && !is_stopped;
    let hint = if is_late { "; no worker took it: posthouse health" } else { "" };
    format!("may run    {due}{hint}")
}

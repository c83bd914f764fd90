//! What happened to a delivery and why, on one screen, for somebody who was woken up.
//!
//! Made of what the admin API says and the time; reads and writes nothing. Everything that a
//! sender or a destination wrote is escaped.

use super::print::escape;
use super::table::{Table, cut, shown};
use super::times::{ago, between, short, span};
use super::why::why;
use crate::delivery::Micros;
use serde_json::Value;
use std::fmt::Write;

/// Attempts of one job on the screen of its delivery; `jobs show` has them all.
const ATTEMPTS_MAX: usize = 6;

/// Characters of a destination's answer: the start of a line or two.
const ANSWER_CHARS_MAX: usize = 160;

/// A delivery with its jobs and attempts.
pub(super) fn delivery(found: &Value, now_us: Micros) -> String {
    let delivery = &found["delivery"];
    let mut text = String::new();
    let (id, source) = (field(delivery, "id"), field(delivery, "source"));
    line(&mut text, &format!("delivery {id} from {source}: {}", field(delivery, "kind")));
    let mut fact = |name: &str, value: String| line(&mut text, &format!("  {name:<10} {value}"));
    fact("key", field(delivery, "key"));
    fact("about", field(delivery, "entity"));
    let from = delivery["received_from"]
        .as_str()
        .map_or_else(String::new, |from| format!(" from {}", escape(from)));
    fact("received", format!("{}{from}", since(delivery, "received_at", now_us)));
    if !delivery["occurred_at"].is_null() {
        fact("happened", since(delivery, "occurred_at", now_us));
    }
    let kept = if delivery["body_kept"] == true { "" } else { ", forgotten by retention" };
    fact("body", format!("{} bytes{kept}", field(delivery, "body_bytes")));
    fact("proof", proof(delivery));
    fact("repeats", repeats(delivery, now_us));
    for receipt in found["receipts"].as_array().into_iter().flatten() {
        let (from, said) = (field(receipt, "from"), field(receipt, "said"));
        fact("again", format!("{} from {from}: {said}", since(receipt, "at", now_us)));
    }
    fact("state", field(delivery, "state"));
    let none = Vec::new();
    let jobs = found["jobs"].as_array().unwrap_or(&none);
    if jobs.is_empty() {
        line(&mut text, "\nno job: no route took this kind of event when it was received");
    }
    for job in jobs {
        text.push('\n');
        about_job(&mut text, job, now_us, ATTEMPTS_MAX);
    }
    let operations = found["operations"].as_array().unwrap_or(&none);
    if !operations.is_empty() {
        let columns =
            [("OPERATOR", "at_at"), ("DID", "action"), ("TO", "subject"), ("NOTE", "detail")];
        let _ = write!(text, "\n{}", Table::of(&with_times(operations), &columns).text());
    }
    text
}

/// One job with all its attempts.
pub(super) fn job(found: &Value, now_us: Micros) -> String {
    let mut text = String::new();
    about_job(&mut text, found, now_us, usize::MAX);
    text
}

fn about_job(text: &mut String, job: &Value, now_us: Micros, attempts_max: usize) {
    let (id, route, state) = (field(job, "id"), field(job, "route"), field(job, "state"));
    line(text, &format!("job {id} on route {route}: {}", state.to_uppercase()));
    for fact in why(job, &state, now_us) {
        line(text, &format!("  {fact}"));
    }
    let none = Vec::new();
    let attempts = job["attempts"].as_array().unwrap_or(&none);
    let count = job["attempt_count"].as_u64().unwrap_or(0);
    // The one under way is counted, and not told yet.
    let ended = count.saturating_sub(u64::from(state == "running"));
    let untold = ended.saturating_sub(attempts.len() as u64);
    if untold > 0 {
        let s = if untold == 1 { "" } else { "s" };
        line(text, &format!("  {untold} attempt{s} without a record: called off, or forgotten"));
    }
    let left_out = attempts.len().saturating_sub(attempts_max);
    if left_out > 0 {
        line(text, &format!("  {left_out} earlier attempts: posthouse jobs show {id}"));
    }
    if !attempts.is_empty() {
        for row in tried(&attempts[left_out..]).lines() {
            line(text, &format!("  {row}"));
        }
    }
}

/// The attempts, and under each the start of what the destination answered.
fn tried(attempts: &[Value]) -> String {
    let mut table = Table::new(&["TRY", "STARTED", "TOOK", "OUTCOME", "STATUS", "DETAIL"]);
    for attempt in attempts {
        let time = |field: &str| attempt[field].as_str().unwrap_or_default();
        let took = between(time("started_at"), time("ended_at")).map_or("-".into(), span);
        let rest = ["outcome", "status"].map(|field| shown(attempt, field));
        let [outcome, status] = rest;
        let (n, detail) = (shown(attempt, "attempt"), shown(attempt, "detail"));
        table.row([n, short(time("started_at")), took, outcome, status, detail]);
    }
    let table = table.text();
    let mut lines = table.lines();
    let mut text = String::new();
    line(&mut text, lines.next().unwrap_or_default());
    for (row, attempt) in lines.zip(attempts) {
        line(&mut text, row);
        let answer = attempt["answer"].as_str().unwrap_or_default().trim();
        if !answer.is_empty() {
            line(&mut text, &format!("     answer: {}", cut(&escape(answer), ANSWER_CHARS_MAX)));
        }
    }
    text
}

fn proof(delivery: &Value) -> String {
    let covered = match delivery["coverage"].as_str() {
        Some("body") => "the signature covers the body",
        Some("sender") => "the sender is proved, the content is not",
        _ => return "none: the source accepts anyone".to_owned(),
    };
    match delivery["secret"].as_i64() {
        Some(at) => format!("{covered}; secrets[{at}] of the source matched"),
        None => covered.to_owned(),
    }
}

fn repeats(delivery: &Value, now_us: Micros) -> String {
    let count = |field: &str| delivery[field].as_i64().unwrap_or(0);
    let mut text = match (count("repeats"), count("conflicts")) {
        (0, 0) => return "none".to_owned(),
        (repeats, 0) => repeats.to_string(),
        (repeats, conflicts) => format!(
            "{repeats}, and {conflicts} with OTHER CONTENT under the same key, refused with 409"
        ),
    };
    if !delivery["repeated_at"].is_null() {
        let _ = write!(text, "; last {}", since(delivery, "repeated_at", now_us));
    }
    text
}

/// Operations with their time under a name that tables know as a time.
fn with_times(operations: &[Value]) -> Vec<Value> {
    let renamed = |operation: &Value| {
        let mut operation = operation.clone();
        operation["at_at"] = operation["at"].take();
        operation
    };
    operations.iter().map(renamed).collect()
}

pub(super) fn field(item: &Value, name: &str) -> String {
    escape(&shown(item, name))
}

/// A time and how long ago it was.
pub(super) fn since(item: &Value, name: &str, now_us: Micros) -> String {
    match item[name].as_str() {
        Some(time) => format!("{} ({})", short(time), ago(time, now_us)),
        None => "-".to_owned(),
    }
}

/// Writing to a `String` cannot fail.
fn line(text: &mut String, content: &str) {
    let _ = writeln!(text, "{content}");
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;

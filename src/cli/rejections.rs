//! `rejections`: what was refused, by source and reason, and one by one as far as it is kept.

use super::client::Api;
use super::failure::Failure;
use super::table::{Table, shown};
use super::{Format, Global, print};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;

#[derive(Subcommand)]
pub(super) enum Rejections {
    /// Lists refusals by source and reason, and those that are kept one by one, the latest first
    List(List),
    /// Shows a refused request, why it was refused and what is probably wrong
    Show {
        /// Its number
        id: String,
    },
    /// Prints the body of a refused request byte for byte; on a terminal it is escaped
    Body {
        /// Its number
        id: String,
    },
    /// Says which refused requests would be taken now, say after their secret was mended
    Recheck(Which),
    /// Records the refused requests that would be taken now
    Promote(Which),
}

#[derive(Args)]
pub(super) struct List {
    /// Only of this source
    #[arg(long)]
    source: Option<String>,
    /// Only those kept before this one: the next page
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// At most so many of those that are kept, up to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: Option<u16>,
}

#[derive(Args)]
pub(super) struct Which {
    /// Their numbers [default: all that are kept]
    ids: Vec<String>,
    /// Only of this source
    #[arg(long, conflicts_with = "ids")]
    source: Option<String>,
}

const COUNTS: [(&str, &str); 6] = [
    ("SOURCE", "source"),
    ("REASON", "reason"),
    ("COUNT", "count"),
    ("FIRST", "first_at"),
    ("LAST", "last_at"),
    ("DETAIL OF THE LAST", "detail"),
];

const KEPT: [(&str, &str); 6] = [
    ("ID", "id"),
    ("RECEIVED", "received_at"),
    ("SOURCE", "source"),
    ("REASON", "reason"),
    ("LIKELY CAUSE", "cause"),
    ("BYTES", "body_bytes"),
];

const REVIEWED: [(&str, &str); 6] = [
    ("ID", "id"),
    ("RECEIVED", "received_at"),
    ("SOURCE", "source"),
    ("OUTCOME", "outcome"),
    ("DELIVERIES", "deliveries"),
    ("WHY", "detail"),
];

impl Rejections {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let api = Api::new(global)?;
        match self {
            Self::List(list) => list.run(global, &api).await,
            Self::Show { id } => {
                let found = api.get(&["quarantine", id], &[]).await?;
                match global.output {
                    Format::Json => print::json(&found),
                    Format::Table => print::text(&screen(&found)),
                }
            }
            Self::Body { id } => {
                let body = api.bytes(&["quarantine", id, "body"]).await?;
                match std::io::stdout().is_terminal() {
                    true => print::text(&print::escape_lines(&String::from_utf8_lossy(&body))),
                    false => print::bytes(&body),
                }
            }
            Self::Recheck(which) => which.run(global, &api, "recheck").await.map(|_| ()),
            Self::Promote(which) => {
                let recorded = which.run(global, &api, "promote").await?;
                match recorded {
                    0 if !which.ids.is_empty() => {
                        Err(Failure::Failed("nothing was recorded".into()))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl List {
    async fn run(&self, global: &Global, api: &Api) -> Result<(), Failure> {
        let mut counts = api.get(&["rejections"], &[]).await?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        if let (Some(items), Some(source)) = (counts["items"].as_array_mut(), &self.source) {
            items.retain(|item| item["source"] == **source);
        }
        let query = [
            ("source", text(&self.source)),
            ("before", text(&self.before)),
            ("limit", self.limit.map_or_else(String::new, |limit| limit.to_string())),
        ];
        let kept = api.get(&["quarantine"], &query).await?;
        if global.output == Format::Json {
            return print::json(&json!({
                "items": counts["items"], "quarantine": kept["items"], "next": kept["next"],
            }));
        }
        let table = |page: &Value, columns: &[(&str, &str)]| {
            Table::of(page["items"].as_array().map_or(&[], Vec::as_slice), columns).text()
        };
        print::text(&format!("{}\n{}", table(&counts, &COUNTS), table(&kept, &KEPT)))?;
        if let Some(next) = kept["next"].as_str() {
            print::remark(&format!("there are more: --before {next}"));
        }
        Ok(())
    }
}

impl Which {
    /// Has them judged, and says how many were recorded or would be.
    async fn run(&self, global: &Global, api: &Api, how: &str) -> Result<usize, Failure> {
        let asked = json!({ "source": self.source.as_deref().unwrap_or(""), "ids": self.ids });
        let report = api.post(&["quarantine", how], &asked).await?;
        let items = report["items"].as_array().map_or(&[][..], Vec::as_slice);
        let passed = |item: &&Value| item["outcome"] == "passes" || item["outcome"] == "recorded";
        let passed = items.iter().filter(passed).count();
        match global.output {
            Format::Json => print::json(&report)?,
            Format::Table => {
                let verb = if how == "promote" { "recorded" } else { "would be recorded" };
                let table = Table::of(items, &REVIEWED).text();
                print::text(&format!("{table}\n{passed} of {} {verb}\n", items.len()))?;
            }
        }
        Ok(passed)
    }
}

/// A refused request on one screen.
fn screen(found: &Value) -> String {
    let mut text = format!("rejection {} of {}\n", shown(found, "id"), shown(found, "source"));
    let kept = if found["body_kept"] == true { "" } else { ", not kept" };
    let stored = match found["likely"].as_str() {
        Some(likely) => format!("{}: {likely}", shown(found, "cause")),
        None => "not looked into: more than one a second was refused".to_owned(),
    };
    let now = match found["cause_now"].as_str() {
        Some(cause) => format!("{cause}: {}", shown(found, "likely_now")),
        None => shown(found, "likely_now"),
    };
    for (name, value) in [
        ("received", shown(found, "received_at")),
        ("refused", format!("{}: {}", shown(found, "reason"), shown(found, "detail"))),
        ("then", stored),
        ("now", now),
        ("body", format!("{} bytes{kept}", shown(found, "body_bytes"))),
    ] {
        let _ = writeln!(text, "  {name:<10} {}", print::escape(&value));
    }
    text.push_str("headers\n");
    for header in found["headers"].as_array().into_iter().flatten() {
        let line = |at: usize| header[at].as_str().unwrap_or_default();
        let _ = writeln!(text, "  {}: {}", print::escape(line(0)), print::escape(line(1)));
    }
    text
}

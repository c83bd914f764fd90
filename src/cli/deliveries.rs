//! `deliveries`: what was received, and what became of it.

use super::client::Api;
use super::explain;
use super::failure::Failure;
use super::table::Table;
use super::times::moment;
use super::{Format, Global, print};
use crate::clock::{Time, rfc3339, wall_us};
use crate::delivery::DeliveryId;
use crate::job::State;
use clap::{Args, Subcommand};
use serde_json::Value;
use std::io::IsTerminal;

#[derive(Subcommand)]
pub(super) enum Deliveries {
    /// Lists deliveries, the newest first
    List(List),
    /// Shows what happened to a delivery and why: its jobs and every attempt
    Show {
        /// The delivery's id, such as 1042
        id: DeliveryId,
    },
    /// Prints a body byte for byte; on a terminal its control characters are escaped
    Body {
        /// The delivery's id
        id: DeliveryId,
    },
}

#[derive(Args)]
pub(super) struct List {
    /// Only of this source
    #[arg(long)]
    source: Option<String>,
    /// Only of this kind; a final * stands for anything
    #[arg(long)]
    kind: Option<String>,
    /// Only with this id of the provider's
    #[arg(long)]
    key: Option<String>,
    /// Only with a job in this state
    #[arg(long)]
    state: Option<State>,
    /// Only with a job of this route
    #[arg(long)]
    route: Option<String>,
    /// Only received at or after: a time with its zone, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Time>,
    /// Only received before
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Time>,
    /// Only older than this delivery: the next page
    #[arg(long, value_name = "ID")]
    before: Option<DeliveryId>,
    /// At most so many, up to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: Option<u16>,
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 8] = [
    ("ID", "id"),
    ("RECEIVED", "received_at"),
    ("SOURCE", "source"),
    ("KIND", "kind"),
    ("STATE", "state"),
    ("REPEATS", "repeats"),
    ("CONFLICTS", "conflicts"),
    ("KEY", "key"),
];

impl Deliveries {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let api = Api::new(global)?;
        match self {
            Self::List(list) => {
                let page = api.get(&["deliveries"], &list.query()).await?;
                print_page(global, &page, &COLUMNS)
            }
            Self::Show { id } => {
                let found = api.get(&["deliveries", &id.to_string()], &[]).await?;
                match global.output {
                    Format::Json => print::json(&found),
                    Format::Table => print::text(&explain::delivery(&found, wall_us())),
                }
            }
            Self::Body { id } => {
                let body = api.bytes(&["deliveries", &id.to_string(), "body"]).await?;
                match std::io::stdout().is_terminal() {
                    true => {
                        let text = String::from_utf8_lossy(&body);
                        print::text(&format!("{}\n", print::escape_lines(&text)))
                    }
                    false => print::bytes(&body),
                }
            }
        }
    }
}

impl List {
    fn query(&self) -> [(&'static str, String); 9] {
        let time = |time: Option<Time>| time.map_or_else(String::new, |time| rfc3339(time.0));
        [
            ("source", self.source.clone().unwrap_or_default()),
            ("kind", self.kind.clone().unwrap_or_default()),
            ("key", self.key.clone().unwrap_or_default()),
            ("state", self.state.map_or("", State::word).to_owned()),
            ("route", self.route.clone().unwrap_or_default()),
            ("since", time(self.since)),
            ("until", time(self.until)),
            ("before", self.before.map(|id| id.to_string()).unwrap_or_default()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
        ]
    }
}

/// Prints a page of a list, and how to get the next one.
pub(super) fn print_page(
    global: &Global,
    page: &Value,
    columns: &[(&str, &str)],
) -> Result<(), Failure> {
    if global.output == Format::Json {
        return print::json(page);
    }
    let none = Vec::new();
    let items = page["items"].as_array().unwrap_or(&none);
    print::text(&Table::of(items, columns).text())?;
    if let Some(next) = page["next"].as_str() {
        print::remark(&format!("there are more: --before {next}"));
    }
    Ok(())
}

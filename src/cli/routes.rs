//! `routes`: what goes where, and stopping and starting it.

use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;
use super::{Format, Global, print};
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Subcommand)]
pub(super) enum Routes {
    /// Lists routes, and which are paused since when and why
    List,
    /// Stops a route: its jobs stay where they are, and new ones are still recorded
    Pause {
        /// The route's name
        name: String,
        /// Why, for whoever finds it paused
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Lets a paused route go on
    Resume {
        /// The route's name
        name: String,
    },
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 7] = [
    ("NAME", "name"),
    ("SOURCE", "source"),
    ("DESTINATION", "destination"),
    ("ORDER", "order"),
    ("EVENTS", "events"),
    ("PAUSED", "paused.since"),
    ("REASON", "paused.reason"),
];

impl Routes {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let api = Api::new(global)?;
        match self {
            Self::List => print_page(global, &api.get(&["routes"], &[]).await?, &COLUMNS),
            Self::Pause { name, reason } => {
                let body = json!({ "reason": reason });
                let told = api.post(&["routes", name, "pause"], &body).await?;
                say(global, &told, &format!("{name} is paused"))
            }
            Self::Resume { name } => {
                let told = api.post(&["routes", name, "resume"], &json!({})).await?;
                let was_paused = told["was_paused"] == true;
                let text = if was_paused { "goes on" } else { "was not paused" };
                say(global, &told, &format!("{name} {text}"))
            }
        }
    }
}

fn say(global: &Global, told: &Value, text: &str) -> Result<(), Failure> {
    match global.output {
        Format::Json => print::json(told),
        Format::Table => print::text(&format!("{}\n", print::escape(text))),
    }
}

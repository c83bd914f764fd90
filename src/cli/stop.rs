//! `pause`, `resume` and `pauses`: stops a source, a route, a destination or a lane, and lets it go
//! on.

use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;
use super::{Format, Global, print};
use crate::source::Scope;
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub(super) struct Named {
    /// What kind of thing: source, route, destination or lane
    scope: Scope,
    /// Its name; for a lane that of its route
    name: String,
    /// What the lane is about, as jobs show says
    entity: Option<String>,
}

#[derive(Args)]
pub(super) struct Pause {
    #[command(flatten)]
    named: Named,
    /// Why, for whoever finds it paused
    #[arg(long, default_value = "")]
    reason: String,
}

#[derive(Args)]
pub(super) struct Resume {
    #[command(flatten)]
    named: Named,
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 4] =
    [("SCOPE", "scope"), ("NAME", "name"), ("SINCE", "since"), ("REASON", "reason")];

/// Lists what is paused.
pub(super) async fn list(global: &Global) -> Result<(), Failure> {
    print_page(global, &Api::new(global)?.get(&["pauses"], &[]).await?, &COLUMNS)
}

impl Named {
    fn body(&self) -> Value {
        let entity = self.entity.as_deref().unwrap_or_default();
        json!({ "scope": self.scope, "name": self.name, "entity": entity })
    }
}

impl Pause {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let mut body = self.named.body();
        body["reason"] = self.reason.as_str().into();
        let told = Api::new(global)?.post(&["pauses"], &body).await?;
        say(global, &told, "is paused")
    }
}

impl Resume {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let told = Api::new(global)?.post(&["pauses", "resume"], &self.named.body()).await?;
        say(global, &told, if told["was_paused"] == true { "goes on" } else { "was not paused" })
    }
}

fn say(global: &Global, told: &Value, what: &str) -> Result<(), Failure> {
    let text = |field: &str| told[field].as_str().unwrap_or_default();
    match global.output {
        Format::Json => print::json(told),
        Format::Table => {
            let text = format!("{} {} {what}", text("scope"), text("name"));
            print::text(&format!("{}\n", print::escape(&text)))
        }
    }
}

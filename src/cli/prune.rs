//! `prune`: lets the ledger forget now, instead of at the next interval.

use super::client::Api;
use super::failure::Failure;
use super::{Format, Global, print};
use clap::Args;
use serde_json::json;

#[derive(Args)]
pub(super) struct Prune {
    /// Only counts
    #[arg(long)]
    dry_run: bool,
}

impl Prune {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let body = json!({ "dry_run": self.dry_run });
        let told = Api::new(global)?.post(&["prune"], &body).await?;
        if global.output == Format::Json {
            return print::json(&told);
        }
        let count = |field: &str| told["pruned"][field].as_u64().unwrap_or(0);
        let verb = if self.dry_run { "would forget" } else { "forgot" };
        print::text(&format!(
            "{verb} {} bodies, the attempts of {} deliveries, {} deliveries with their keys, and \
             {} empty lanes\n",
            count("bodies"),
            count("attempts"),
            count("deliveries"),
            count("lanes")
        ))
    }
}

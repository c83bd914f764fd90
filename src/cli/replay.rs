//! `replay`: runs recorded deliveries again, those named or those of a filter.

use super::client::Api;
use super::failure::Failure;
use super::table::Table;
use super::times::moment;
use super::{Format, Global, print};
use crate::clock::Time;
use crate::delivery::DeliveryId;
use crate::job::State;
use crate::replay::{ReplayFilter, ReplayRequest};
use clap::Args;
use serde_json::Value;

#[derive(Args)]
pub(super) struct Replay {
    /// Deliveries by id
    ids: Vec<DeliveryId>,
    /// Deliveries of this source
    #[arg(long)]
    source: Option<String>,
    /// Deliveries of this kind; a final * stands for anything
    #[arg(long)]
    kind: Option<String>,
    /// Jobs in this state, such as dead
    #[arg(long)]
    state: Option<State>,
    /// Deliveries received at or after: a time with its zone, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Time>,
    /// Deliveries received before
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Time>,
    /// Only on this route; a delivery that had no job on it gets its first one
    #[arg(long)]
    route: Option<String>,
    /// Jobs a second [default: 50 for a filter, at once for named deliveries]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: Option<u32>,
    /// Only says what would be done
    #[arg(long)]
    dry_run: bool,
}

impl Replay {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let request = self.request()?;
        let body = serde_json::to_value(&request)
            .map_err(|error| Failure::Failed(format!("cannot be written as JSON: {error}")))?;
        let report = Api::new(global)?.post(&["replays"], &body).await?;
        match global.output {
            Format::Json => print::json(&report)?,
            Format::Table => print::text(&told(&report))?,
        }
        match report["replayed"].as_array() {
            Some(replayed) if replayed.is_empty() && !self.ids.is_empty() => {
                Err(Failure::Failed("nothing was replayed".into()))
            }
            _ => Ok(()),
        }
    }

    fn request(&self) -> Result<ReplayRequest, Failure> {
        let is_filtered = self.source.is_some()
            || self.kind.is_some()
            || self.state.is_some()
            || self.since.is_some()
            || self.until.is_some();
        if is_filtered && !self.ids.is_empty() {
            return Err(Failure::Usage("name deliveries or give a filter, not both".into()));
        }
        if self.ids.is_empty() && !is_filtered && self.route.is_none() {
            let text = "name deliveries, or give at least one of --source, --kind, --state, \
                --since, --until and --route";
            return Err(Failure::Usage(text.into()));
        }
        let filter = ReplayFilter {
            source: self.source.clone().unwrap_or_default(),
            kind: self.kind.clone().unwrap_or_default(),
            state: self.state,
            since: self.since,
            until: self.until,
        };
        Ok(ReplayRequest {
            deliveries: self.ids.clone(),
            filter: self.ids.is_empty().then_some(filter),
            route: self.route.clone(),
            rate: self.rate,
            dry_run: self.dry_run,
        })
    }
}

/// What was done: the new jobs, and what was left alone and why.
fn told(report: &Value) -> String {
    let none = Vec::new();
    let list = |name: &str| report[name].as_array().unwrap_or(&none);
    let (replayed, skipped) = (list("replayed"), list("skipped"));
    let jobs = if replayed.len() == 1 { "job" } else { "jobs" };
    let verb = if report["dry_run"] == true { "would be replayed" } else { "replayed" };
    let mut text = String::new();
    if !replayed.is_empty() {
        let columns =
            [("DELIVERY", "delivery"), ("ROUTE", "route"), ("REPLAYS", "replays"), ("JOB", "job")];
        text = format!("{}\n", Table::of(replayed, &columns).text());
    }
    if !skipped.is_empty() {
        let columns = [("SKIPPED", "delivery"), ("ROUTE", "route"), ("REASON", "reason")];
        text = format!("{text}{}\n", Table::of(skipped, &columns).text());
    }
    format!("{text}{} {jobs} {verb}, {} skipped\n", replayed.len(), skipped.len())
}

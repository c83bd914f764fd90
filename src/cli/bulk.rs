//! `jobs retry` by what dead jobs are: a bounded number a second, behind live ones.

use super::client::Api;
use super::failure::Failure;
use super::times::moment;
use super::{Format, Global, print};
use crate::clock::Time;
use crate::job::Fault;
use crate::retry::RetryRequest;
use clap::Args;
use serde_json::json;

/// Dead jobs by what they are, put back at a bounded rate and behind live ones.
#[derive(Args)]
#[group(id = "which", multiple = true)]
pub(super) struct Which {
    /// Every dead job
    #[arg(long)]
    all: bool,
    /// Dead jobs of this route
    #[arg(long)]
    route: Option<String>,
    /// Dead jobs of deliveries from this source
    #[arg(long)]
    source: Option<String>,
    /// Dead jobs of this kind of event; a final * stands for anything
    #[arg(long)]
    kind: Option<String>,
    /// Dead jobs through the fault of: refused, unreachable, handler or posthouse
    #[arg(long)]
    fault: Option<Fault>,
    /// Died at or after: a time with its zone, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Time>,
    /// Died before
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Time>,
    /// Jobs a second [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: Option<u32>,
    /// Only says what would be done
    #[arg(long)]
    dry_run: bool,
}

impl Which {
    fn request(&self) -> RetryRequest {
        let text = |given: &Option<String>| given.clone().unwrap_or_default();
        RetryRequest {
            route: text(&self.route),
            source: text(&self.source),
            kind: text(&self.kind),
            fault: self.fault,
            since: self.since,
            until: self.until,
            rate: self.rate,
            dry_run: self.dry_run,
        }
    }

    /// Puts back what fits, and says how much that was.
    pub(super) async fn put_back(&self, api: &Api, global: &Global) -> Result<(), Failure> {
        let narrowed = RetryRequest { rate: None, dry_run: false, ..self.request() };
        let is_filter = json!(narrowed) != json!(RetryRequest::default());
        if is_filter == self.all {
            return Err(Failure::Usage("either --all, or which dead jobs".into()));
        }
        let told = api.post(&["retries"], &json!(self.request())).await?;
        if global.output == Format::Json {
            return print::json(&told);
        }
        let mut text = String::new();
        let would = if self.dry_run { "would be put back" } else { "put back" };
        for (route, count) in told["retried"].as_object().into_iter().flatten() {
            let jobs = if *count == 1 { "job" } else { "jobs" };
            text.push_str(&format!("{}: {count} {jobs} {would}\n", print::escape(route)));
        }
        if text.is_empty() {
            text.push_str("no dead job fits\n");
        } else if let Some(last) = told["last_at"].as_str() {
            text.push_str(&format!("the last one at {last}\n"));
        }
        print::text(&text)
    }
}

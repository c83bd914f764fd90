//! `jobs`: what is to be done and was, and the two things an operator does to a job.

use super::bulk::Which;
use super::client::Api;
use super::deliveries::print_page;
use super::explain;
use super::failure::Failure;
use super::{Format, Global, print};
use crate::clock::wall_us;
use crate::job::{Fault, JobId, State};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Subcommand)]
pub(super) enum Jobs {
    /// Lists jobs, the newest first
    List(List),
    /// Shows a job and all its attempts
    Show {
        /// The job's id, such as 1042-0
        id: JobId,
    },
    /// Puts dead jobs back, or lets retrying ones run now
    Retry {
        /// The jobs' ids
        #[arg(required_unless_present = "which", conflicts_with = "which")]
        ids: Vec<JobId>,
        #[command(flatten)]
        which: Which,
    },
    /// Decides about jobs of unknown outcome
    Resolve {
        /// The jobs' ids
        #[arg(required = true)]
        ids: Vec<JobId>,
        #[command(flatten)]
        resolution: Decision,
    },
    /// Calls jobs off; their lanes go on
    Cancel {
        /// The jobs' ids
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct Decision {
    /// They did happen: done
    #[arg(long)]
    succeeded: bool,
    /// They did not happen, and are given up
    #[arg(long)]
    failed: bool,
    /// They did not happen, or may happen twice: once more, with the same idempotency key
    #[arg(long)]
    retry: bool,
}

impl Decision {
    fn word(&self) -> &'static str {
        match self {
            Self { succeeded: true, .. } => "succeeded",
            Self { failed: true, .. } => "failed",
            Self { .. } => "retry",
        }
    }
}

#[derive(Args)]
pub(super) struct List {
    /// Only in this state
    #[arg(long)]
    state: Option<State>,
    /// Only of this route
    #[arg(long)]
    route: Option<String>,
    /// Only those that died, or are uncertain, through this one's fault
    #[arg(long)]
    fault: Option<Fault>,
    /// Only older than this job: the next page
    #[arg(long, value_name = "ID")]
    before: Option<JobId>,
    /// At most so many, up to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: Option<u16>,
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 10] = [
    ("ID", "id"),
    ("STATE", "state"),
    ("ROUTE", "route"),
    ("SOURCE", "source"),
    ("KIND", "kind"),
    ("ATTEMPTS", "attempt_count"),
    ("CREATED", "created_at"),
    ("NEXT", "due_at"),
    ("FAULT", "fault"),
    ("REASON", "reason"),
];

impl Jobs {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let api = Api::new(global)?;
        match self {
            Self::List(list) => {
                let page = api.get(&["jobs"], &list.query()).await?;
                print_page(global, &page, &COLUMNS)
            }
            Self::Show { id } => {
                let found = api.get(&["jobs", &id.to_string()], &[]).await?;
                match global.output {
                    Format::Json => print::json(&found),
                    Format::Table => print::text(&explain::job(&found, wall_us())),
                }
            }
            Self::Retry { ids, which } if ids.is_empty() => which.put_back(&api, global).await,
            Self::Retry { ids, .. } => each(&api, global, ids, "retry", &json!({})).await,
            Self::Resolve { ids, resolution } => {
                let body = json!({ "resolution": resolution.word() });
                each(&api, global, ids, "resolve", &body).await
            }
            Self::Cancel { ids } => each(&api, global, ids, "cancel", &json!({})).await,
        }
    }
}

impl List {
    fn query(&self) -> [(&'static str, String); 5] {
        [
            ("state", self.state.map_or("", State::word).to_owned()),
            ("route", self.route.clone().unwrap_or_default()),
            ("fault", self.fault.map_or("", Fault::word).to_owned()),
            ("before", self.before.map(|id| id.to_string()).unwrap_or_default()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
        ]
    }
}

/// Does the same to every job. One that cannot be changed does not keep the others from it, and
/// decides the exit code.
async fn each(
    api: &Api,
    global: &Global,
    ids: &[JobId],
    what: &str,
    body: &Value,
) -> Result<(), Failure> {
    let (mut done, mut failures): (Vec<Value>, Vec<Failure>) = (Vec::new(), Vec::new());
    for id in ids {
        match api.post(&["jobs", &id.to_string(), what], body).await {
            Ok(told) => done.push(told),
            Err(failure @ (Failure::Unreachable(_) | Failure::Usage(_))) => return Err(failure),
            Err(Failure::NotFound(text)) => failures.push(Failure::NotFound(text)),
            Err(failure) => failures.push(Failure::Failed(format!("{id}: {failure}"))),
        }
    }
    match global.output {
        Format::Json => print::json(&done.into())?,
        Format::Table => {
            let line = |told: &Value| {
                let text = |field: &str| told[field].as_str().unwrap_or("-").to_owned();
                format!("{} is {}\n", text("job"), text("state"))
            };
            print::text(&done.iter().map(line).collect::<String>())?;
        }
    }
    let last = failures.pop();
    for failure in failures {
        print::remark(&failure.to_string());
    }
    last.map_or(Ok(()), Err)
}

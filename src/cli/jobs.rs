//! `jobs`: what is to be done and was, and the two things an operator does to a job.

use super::client::Api;
use super::deliveries::print_page;
use super::explain;
use super::failure::Failure;
use super::{Format, Global, print};
use crate::clock::wall_us;
use crate::job::{JobId, State};
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
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Calls jobs off; their lanes go on
    Cancel {
        /// The jobs' ids
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
}

#[derive(Args)]
pub(super) struct List {
    /// Only in this state
    #[arg(long)]
    state: Option<State>,
    /// Only of this route
    #[arg(long)]
    route: Option<String>,
    /// Only older than this job: the next page
    #[arg(long, value_name = "ID")]
    before: Option<JobId>,
    /// At most so many, up to 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: Option<u16>,
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 9] = [
    ("ID", "id"),
    ("STATE", "state"),
    ("ROUTE", "route"),
    ("SOURCE", "source"),
    ("KIND", "kind"),
    ("ATTEMPTS", "attempt_count"),
    ("CREATED", "created_at"),
    ("NEXT", "due_at"),
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
            Self::Retry { ids } => each(&api, global, ids, "retry").await,
            Self::Cancel { ids } => each(&api, global, ids, "cancel").await,
        }
    }
}

impl List {
    fn query(&self) -> [(&'static str, String); 4] {
        [
            ("state", self.state.map_or("", State::word).to_owned()),
            ("route", self.route.clone().unwrap_or_default()),
            ("before", self.before.map(|id| id.to_string()).unwrap_or_default()),
            ("limit", self.limit.map(|limit| limit.to_string()).unwrap_or_default()),
        ]
    }
}

/// Does the same to every job. One that cannot be changed does not keep the others from it, and
/// decides the exit code.
async fn each(api: &Api, global: &Global, ids: &[JobId], what: &str) -> Result<(), Failure> {
    let (mut done, mut failures): (Vec<Value>, Vec<Failure>) = (Vec::new(), Vec::new());
    for id in ids {
        match api.post(&["jobs", &id.to_string(), what], &json!({})).await {
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

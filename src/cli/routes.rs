//! `routes`: what goes where.

use super::Global;
use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;
use clap::Subcommand;

#[derive(Subcommand)]
pub(super) enum Routes {
    /// Lists routes, and which are paused since when and why
    List,
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
        }
    }
}

//! `rejections`: what was refused, by source and reason.

use super::Global;
use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;
use clap::Subcommand;

#[derive(Subcommand)]
pub(super) enum Rejections {
    /// Lists refusals, the latest first
    List,
}

/// The columns of the list.
const COLUMNS: [(&str, &str); 6] = [
    ("SOURCE", "source"),
    ("REASON", "reason"),
    ("COUNT", "count"),
    ("FIRST", "first_at"),
    ("LAST", "last_at"),
    ("DETAIL OF THE LAST", "detail"),
];

impl Rejections {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        let Self::List = self;
        print_page(global, &Api::new(global)?.get(&["rejections"], &[]).await?, &COLUMNS)
    }
}

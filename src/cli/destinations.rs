//! `destinations`: where jobs go, and how the destinations are.

use super::Global;
use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;

/// The columns of the list.
const COLUMNS: [(&str, &str); 10] = [
    ("NAME", "name"),
    ("TYPE", "type"),
    ("RUNNING", "running"),
    ("RATE", "rate_per_s"),
    ("CONCURRENCY", "concurrency"),
    ("CIRCUIT", "circuit.state"),
    ("SINCE", "circuit.since"),
    ("UNTIL", "circuit.until"),
    ("REASON", "circuit.reason"),
    ("PAUSED", "paused.since"),
];

/// Lists destinations.
pub(super) async fn list(global: &Global) -> Result<(), Failure> {
    print_page(global, &Api::new(global)?.get(&["destinations"], &[]).await?, &COLUMNS)
}

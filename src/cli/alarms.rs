//! `alarms`: what stands wrong now.

use super::Global;
use super::client::Api;
use super::deliveries::print_page;
use super::failure::Failure;

/// The columns of the list.
const COLUMNS: [(&str, &str); 6] = [
    ("ALARM", "alarm"),
    ("SUBJECT", "subject"),
    ("SINCE", "since"),
    ("LAST", "last_at"),
    ("COUNT", "count"),
    ("DETAIL", "detail"),
];

/// Lists the alarms that stand.
pub(super) async fn list(global: &Global) -> Result<(), Failure> {
    print_page(global, &Api::new(global)?.get(&["alarms"], &[]).await?, &COLUMNS)
}

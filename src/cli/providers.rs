//! `providers`: the senders that are known. Asks nobody.

use super::failure::Failure;
use super::table::Table;
use super::{Format, Global, print};
use crate::delivery::coverage_word;
use providers::ALL;
use serde_json::{Value, json};

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    let shown = |provider: &&dyn providers::Provider| {
        json!({
            "name": provider.name(),
            "coverage": coverage_word(provider.coverage()),
            "horizon_days": provider.horizon_days(),
            "body_bytes_max": provider.body_bytes_max(),
        })
    };
    let items: Vec<Value> = ALL.iter().map(shown).collect();
    if global.output == Format::Json {
        return print::json(&json!({ "items": items }));
    }
    let columns = [
        ("NAME", "name"),
        ("PROVES", "coverage"),
        ("REDELIVERS FOR DAYS", "horizon_days"),
        ("BODY BYTES AT MOST", "body_bytes_max"),
    ];
    let table = Table::of(&items, &columns).text();
    print::text(&format!("{table}and generic_hmac, generic_token, set up by the configuration\n"))
}

//! `providers`: the senders that are known. Asks nobody.

use super::failure::Failure;
use super::table::Table;
use super::{Format, Global, print};
use crate::delivery::coverage_word;
use providers::ALL;
use serde_json::{Value, json};

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    // Backticks mark what is literal where the same words are shown as Markdown.
    let plain = |text: &str| text.replace('`', "");
    let shown = |provider: &&dyn providers::Provider| {
        let facts = provider.facts();
        json!({
            "name": provider.name(),
            "title": facts.title,
            "proof": plain(facts.proof),
            "coverage": coverage_word(provider.coverage()),
            "key": plain(facts.key),
            "entity": plain(facts.entity),
            "position": plain(facts.position),
            "horizon_days": provider.horizon_days(),
            "body_bytes_max": provider.body_bytes_max(),
            "answer_deadline_ms": provider.answer_deadline_ms(),
        })
    };
    let items: Vec<Value> = ALL.iter().map(shown).collect();
    if global.output == Format::Json {
        return print::json(&json!({ "items": items }));
    }
    let columns = [
        ("NAME", "name"),
        ("SENDER", "title"),
        ("PROOF", "proof"),
        ("PROVES", "coverage"),
        ("KEY", "key"),
        ("REDELIVERS FOR DAYS", "horizon_days"),
        ("WAITS FOR MS", "answer_deadline_ms"),
    ];
    let table = Table::of(&items, &columns).text();
    print::text(&format!("{table}and generic_hmac, generic_token, set up by the configuration\n"))
}

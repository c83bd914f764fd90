//! `providers`: the senders that are known, and what can be sent in their name. Asks nobody.

use super::failure::Failure;
use super::table::{Table, shown};
use super::{Format, Global, print};
use crate::delivery::coverage_word;
use clap::{Args, Subcommand};
use providers::{ALL, Provider, find, samples};
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(Args)]
pub(super) struct Providers {
    /// Without one: list
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the senders that are known
    List,
    /// Shows what is known of a sender, and the events that `trigger` has samples of
    Show {
        /// The provider's name, such as github
        name: String,
    },
}

impl Providers {
    pub(super) fn run(&self, global: &Global) -> Result<(), Failure> {
        match &self.command {
            None | Some(Command::List) => list(global),
            Some(Command::Show { name }) => show(global, name),
        }
    }
}

fn described(provider: &dyn Provider) -> Value {
    // Backticks mark what is literal where the same words are shown as Markdown.
    let plain = |text: &str| text.replace('`', "");
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
        "samples": samples(provider.name()),
    })
}

fn list(global: &Global) -> Result<(), Failure> {
    let items: Vec<Value> = ALL.iter().map(|provider| described(*provider)).collect();
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

fn show(global: &Global, name: &str) -> Result<(), Failure> {
    let Some(provider) = find(name) else {
        let text = format!("there is no provider {name:?}; `posthouse providers` lists them");
        return Err(Failure::NotFound(text));
    };
    let found = described(provider);
    if global.output == Format::Json {
        return print::json(&found);
    }
    let mut text = format!("{} ({name})\n", shown(&found, "title"));
    for (title, field) in [
        ("proof", "proof"),
        ("proves", "coverage"),
        ("key", "key"),
        ("lane", "entity"),
        ("position", "position"),
        ("redelivers for days", "horizon_days"),
        ("waits for ms", "answer_deadline_ms"),
        ("body bytes at most", "body_bytes_max"),
    ] {
        let _ = writeln!(text, "  {title:<20} {}", shown(&found, field));
    }
    let samples = samples(provider.name());
    if samples.is_empty() {
        text.push_str("no samples: nobody but the sender can sign\n");
        return print::text(&text);
    }
    text.push_str("samples, for `posthouse trigger SOURCE EVENT`\n");
    for sample in samples {
        let _ = writeln!(text, "  {sample}");
    }
    text.push_str("  any other: a small stand-in, or --file\n");
    print::text(&text)
}

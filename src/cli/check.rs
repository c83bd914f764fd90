//! `check`: the effective configuration with its secrets hidden, or everything that is wrong
//! with it, at once. Creates nothing and connects to nothing.

use super::failure::Failure;
use super::settings::load;
use super::{Format, Global, print};
use crate::config::{Fault, Files, show};
use serde_json::{Value, json};

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    let config = match load(global, Vec::new(), Files::Untouched) {
        Ok(config) => config,
        Err(faults) => {
            if global.output == Format::Json {
                let shown = |fault: &Fault| json!({ "path": fault.path, "message": fault.message });
                let faults: Vec<Value> = faults.iter().map(shown).collect();
                print::json(&json!({ "faults": faults }))?;
            }
            return Err(Failure::of_configuration(&faults));
        }
    };
    if global.output == Format::Json {
        let all = json!({ "config": config.shown(), "notes": config.notes, "faults": [] });
        return print::json(&all);
    }
    let notes = config.notes.iter().map(|note| format!("# note: {note}\n"));
    let notes: String = notes.collect();
    print::text(&format!("{}\n{}", show(&config).trim_end(), notes))
}

//! Tests of loading. The environment is always a map: nothing here touches the process's own.

mod alarms;
mod cases;
mod faults;
mod first;
mod merging;
mod reference;

use super::{Config, Files};
use std::collections::BTreeMap;

/// A source, a destination and a route that are right, save what a test adds.
const ROUTE: &str = "
    [destinations.log]
    type = \"log\"
    [[routes]]
    source = \"github\"
    destination = \"log\"
";

fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Loads a text; the faults as lines.
fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    Config::from_text(Some(text), Vec::new(), environment(variables), Files::Untouched)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// As [`load`], with GitHub as a source, the log as its destination and further text.
fn load_github(text: &str, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let source = "[sources.github]\nprovider = \"github\"\nsecrets = [\"env:SECRET\"]\n";
    let mut all = vec![("SECRET", "gh-cedar-lantern-41")];
    all.extend_from_slice(variables);
    load(&format!("{source}{ROUTE}{text}"), &all)
}

/// The faults of a text that must have some.
fn faults(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    load(text, variables).expect_err("the text has faults")
}

/// Demands exactly one fault, of this path and with this text in it.
fn only(faults: &[String], path: &str, text: &str) {
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].starts_with(&format!("{path}: ")), "{faults:#?}");
    assert!(faults[0].contains(text), "{faults:#?}");
}

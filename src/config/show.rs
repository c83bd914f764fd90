//! The effective configuration, as the operator may see it.
//!
//! It is made of what was read, defaults included, after the checks filled in the rest. A secret
//! is shown as the reference to it; there is no way to its value from here.

use super::Config;
use super::raw::Raw;
use super::read::{Key, Kind};
use serde_json::{Map, Value as Json};
use std::fmt::Write;

impl Config {
    /// The effective configuration as JSON, secrets hidden.
    pub fn shown(&self) -> &Json {
        &self.shown
    }
}

/// The effective configuration as text in the manner of TOML, secrets hidden.
pub fn show(config: &Config) -> String {
    let mut text = String::new();
    if let Json::Object(root) = config.shown() {
        table(root, "", &mut text);
    }
    text.trim_start().to_owned()
}

/// Every key that a configuration may have, in order, with its default and its meaning.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    Raw::keys("", &mut keys);
    keys
}

/// Writes the values of a table, and after them the tables in it.
fn table(entries: &Map<String, Json>, path: &str, text: &mut String) {
    for (key, value) in entries {
        if let Some(value) = plain(value) {
            line(text, &format!("{} = {value}", bare(key)));
        }
    }
    for (key, value) in entries {
        let path = if path.is_empty() { bare(key) } else { format!("{path}.{}", bare(key)) };
        match value {
            Json::Object(inner) => {
                if inner.values().any(|value| plain(value).is_some()) {
                    line(text, &format!("\n[{path}]"));
                }
                table(inner, &path, text);
            }
            Json::Array(list) => {
                for inner in list.iter().filter_map(Json::as_object) {
                    line(text, &format!("\n[[{path}]]"));
                    table(inner, &path, text);
                }
            }
            _ => {}
        }
    }
}

/// A value that fits behind its key; `None` for tables, lists of tables and what is not set.
fn plain(value: &Json) -> Option<String> {
    match value {
        Json::Null | Json::Object(_) => None,
        Json::Array(list) if list.iter().all(Json::is_object) => None,
        _ => Some(value.to_string()),
    }
}

/// A key, in quotes where it needs them.
fn bare(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if key.bytes().all(plain) { key.to_owned() } else { format!("{key:?}") }
}

/// Writing to a `String` cannot fail.
fn line(text: &mut String, content: &str) {
    let _infallible = writeln!(text, "{content}");
}

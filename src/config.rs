//! Configuration: defaults, file, environment and command line, in this order, checked at once.
//!
//! What is read goes through three steps: layers are merged (here), values become typed (`read`
//! and the sections), and what depends on several keys is checked (`check`). Every fault is
//! reported with the path of its key, all of them at once. Unknown keys are faults.
//!
//! Never guesses, never expands variables in values, and never shows a secret. Relative paths
//! are relative to the working directory.

mod alarms;
mod check;
mod destination;
mod first;
mod kinds;
mod origin;
mod provider;
mod raw;
mod read;
mod route;
mod scalars;
mod secret;
mod sections;
mod show;
#[cfg(test)]
mod tests;
mod units;

pub use alarms::Alarms;
pub use first::{Files, keep_secret, kept_secret};
pub use read::Key;
pub use scalars::PublicUrl;
pub use secret::{Held, Located};
pub use sections::{Admin, Quarantine, RemoteKeys, Retention, Server, Store, Workers};
pub use show::{keys, show};
pub use units::Size;

use crate::source::{Destination, HttpDestination, Route, Source};
use ::config::{Environment, File, FileFormat, Value};
use providers::Secret;
use raw::Raw;
use read::{Kind, Place, Reading};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

/// The file that is read when none is named, if it is there.
pub const DEFAULT_FILE: &str = "posthouse.toml";

/// What environment variables with configuration begin with; `__` also stands between keys.
const PREFIX: &str = "POSTHOUSE";

/// The configuration, checked.
pub struct Config {
    /// The public listener.
    pub server: Server,
    /// The operator's listener.
    pub admin: Admin,
    /// How deliveries and jobs are kept.
    pub store: Store,
    /// Where they are kept.
    pub database: Database,
    /// What delivers.
    pub workers: Workers,
    /// Keys that senders keep elsewhere.
    pub keys: RemoteKeys,
    /// Refused requests that are kept.
    pub quarantine: Quarantine,
    /// When to forget.
    pub retention: Retention,
    /// When to raise an alarm.
    pub alarms: Alarms,
    /// Where alarms are sent, beside the log.
    pub alarm_destination: Option<HttpDestination>,
    /// Who may send, by name.
    pub sources: BTreeMap<Arc<str>, Arc<Source>>,
    /// Where jobs go, by name.
    pub destinations: BTreeMap<Arc<str>, Destination>,
    /// What goes where, in the order of the file.
    pub routes: Vec<Arc<Route>>,
    /// Remarks for the operator: nothing is wrong, and something may be unexpected.
    pub notes: Vec<String>,
    shown: serde_json::Value,
}

/// Which database, and where.
#[derive(Clone, Debug)]
pub enum Database {
    /// The path of a SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL URL, password included.
    Postgres(Secret),
}

/// Something wrong in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the key, such as `sources.github.secrets`; empty for a file as a whole.
    pub path: String,
    /// What is wrong and what would be right. Never a secret.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(out, "{}{colon}{}", self.path, self.message)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&show(self))
    }
}

impl Config {
    /// Loads the file, if named or there by default, beneath the environment and `overrides`,
    /// which are pairs of a path, such as `server.listen`, and a text.
    pub fn load(
        path: Option<&Path>,
        overrides: Vec<(String, String)>,
        environment: BTreeMap<String, String>,
        files: Files,
    ) -> Result<Self, Vec<Fault>> {
        let text = file_text(path).map_err(|fault| vec![fault])?;
        Self::from_text(text.as_deref(), overrides, environment, files)
    }

    /// As [`Config::load`], from the text of a file; `None` for no file.
    pub fn from_text(
        text: Option<&str>,
        overrides: Vec<(String, String)>,
        environment: BTreeMap<String, String>,
        files: Files,
    ) -> Result<Self, Vec<Fault>> {
        let (reading, config) = attempt(text, &overrides, &environment)?;
        if reading.unwritten.is_empty() || files == Files::Untouched {
            return Ok(config);
        }
        first::write(&reading).map_err(|fault| vec![fault])?;
        attempt(text, &overrides, &environment).map(|(_, config)| config)
    }
}

/// The environment of this process, as far as it is UTF-8.
pub fn process_environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The text of the file. Only the default one may be missing.
fn file_text(path: Option<&Path>) -> Result<Option<String>, Fault> {
    let file = path.unwrap_or(Path::new(DEFAULT_FILE));
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_none() => Ok(None),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", file.display());
            Err(Fault { path: String::new(), message })
        }
    }
}

/// Merges, reads and checks once, without writing anything.
fn attempt(
    text: Option<&str>,
    overrides: &[(String, String)],
    environment: &BTreeMap<String, String>,
) -> Result<(Reading, Config), Vec<Fault>> {
    let mut reading = Reading { environment: environment.clone(), ..Reading::default() };
    collisions(&reading);
    let mut tree = merged(text, overrides, environment, Vec::new())?;
    let is_first = text.is_none() && !tree.contains_key("sources");
    if is_first {
        let root = Place { reading: &reading, path: String::new() };
        let store = tree.get("store").cloned().unwrap_or_else(|| read::Table::new().into());
        let data_dir = Store::read(store, &root.key("store")).map(|store| store.data_dir);
        // What is wrong in the section is found once more below, and must be reported once.
        reading.faults.get_mut().retain(|fault| !fault.path.starts_with("store"));
        reading.notes.get_mut().clear();
        let layer = first::layer(&data_dir.unwrap_or_default(), &mut reading);
        tree = merged(text, overrides, environment, layer)?;
    }
    let root = Place { reading: &reading, path: String::new() };
    let config = Raw::read(tree.into(), &root).and_then(|raw| check::check(raw, &reading));
    let faults = reading.faults.take();
    match config {
        Some(config) if faults.is_empty() => Ok((reading, config)),
        _ => Err(faults),
    }
}

/// Lays the layers over one another. `config` merges tables and replaces everything else.
fn merged(
    text: Option<&str>,
    overrides: &[(String, String)],
    environment: &BTreeMap<String, String>,
    defaults: Vec<(String, Value)>,
) -> Result<read::Table, Vec<Fault>> {
    let wrong = |path: &str, error: ::config::ConfigError| {
        vec![Fault { path: path.to_owned(), message: without_source(&error.to_string()) }]
    };
    let variables = environment.clone().into_iter().collect();
    let environment = Environment::with_prefix(PREFIX).separator("__").source(Some(variables));
    let mut layers = ::config::Config::builder()
        .add_source(File::from_str(text.unwrap_or_default(), FileFormat::Toml))
        .add_source(environment);
    for (path, value) in defaults {
        layers = layers.set_default(&path, value).map_err(|error| wrong(&path, error))?;
    }
    for (path, value) in overrides {
        let value = Value::new(Some(&"the command line".to_owned()), value.as_str());
        layers = layers.set_override(path, value).map_err(|error| wrong(path, error))?;
    }
    let tree = layers.build().map_err(|error| wrong("", error))?;
    tree.cache.into_table().map_err(|error| wrong("", error))
}

/// An error of the TOML parser without the line it quotes, which may have a secret in it.
fn without_source(message: &str) -> String {
    let quoted = |line: &&str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|')
    };
    let lines: Vec<_> = message.lines().filter(|line| !quoted(line)).collect();
    lines.join(": ")
}

/// Variables that differ only in case, or name both a value and a section: which one would win
/// is chance.
fn collisions(reading: &Reading) {
    let root = Place { reading, path: String::new() };
    let prefix = format!("{}__", PREFIX.to_ascii_lowercase());
    let mut paths: Vec<_> = reading.environment.keys().map(|name| name.to_lowercase()).collect();
    paths.retain(|name| name.starts_with(&prefix));
    paths.sort_unstable();
    for (index, path) in paths.iter().enumerate() {
        let beneath = |other: &String| {
            other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        if paths[index + 1..].iter().any(beneath) {
            let path = path[prefix.len()..].replace("__", ".");
            let place = Place { reading, path: root.path.clone() + &path };
            place.fault("is set twice in the environment, or as a value and as a section");
        }
    }
}

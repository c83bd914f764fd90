//! Finds the provider of a source: a listed one by its name, a generic one by its settings.
//!
//! Never knows how any of them signs.

use super::check::required;
use super::raw::SourceKeys;
use super::read::Place;
use ::config::ConfigError;
use providers::{Provider, generic};

/// The provider that a source names.
pub(super) fn provider(keys: &SourceKeys, at: &Place<'_>) -> Option<&'static dyn Provider> {
    let name = required(&keys.provider, &at.key("provider"))?;
    let listed = match name.as_str() {
        "generic_hmac" => return generic(keys, at, generic::hmac),
        "generic_token" => return generic(keys, at, generic::token),
        name => providers::find(name),
    };
    if keys.scheme.is_some() {
        at.key("scheme").fault("is for generic_hmac and generic_token only");
    }
    if listed.is_none() {
        unknown(&name, &at.key("provider"));
    }
    listed
}

/// A provider made of the settings in `scheme`. The first wrong one is reported.
///
/// It is never freed: there is one for each such source, and they live as long as the process.
fn generic<T: serde::de::DeserializeOwned>(
    keys: &SourceKeys,
    at: &Place<'_>,
    make: fn(T) -> Result<Box<dyn Provider>, String>,
) -> Option<&'static dyn Provider> {
    let at = at.key("scheme");
    let scheme = required(&keys.scheme, &at)?;
    let settings = scheme.0.try_deserialize().map_err(|error| report(error, &at)).ok()?;
    let made = make(settings).map_err(|fault| at.fault(fault)).ok()?;
    Some(Box::leak(made))
}

/// Reports what serde says, without the value that it quotes: it may be a secret.
fn report(error: ConfigError, at: &Place<'_>) {
    let told = |error: &ConfigError| match error.to_string() {
        text if text.starts_with("unknown field") => text,
        _ => "cannot have this value; see providers/README.md".to_owned(),
    };
    let (key, message) = match error {
        ConfigError::NotFound(key) => (Some(key), "is missing".to_owned()),
        ConfigError::Type { key, expected, .. } => (key, format!("expected {expected}")),
        ConfigError::At { key, error, .. } => (key, told(&error)),
        other => (None, told(&other)),
    };
    let path = key.map_or_else(|| at.path.clone(), |key| format!("{}.{key}", at.path));
    Place { reading: at.reading, path }.fault(message);
}

/// Says which names there are, and which one may have been meant.
fn unknown(name: &str, at: &Place<'_>) {
    let mut names: Vec<_> = providers::ALL.iter().map(|provider| provider.name()).collect();
    names.extend(["generic_hmac", "generic_token"]);
    names.sort_unstable();
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let meant = names.iter().find(|candidate| plain(candidate) == plain(name));
    let meant = meant.map_or(String::new(), |meant| format!(", perhaps {meant}"));
    at.fault(format!("there is no provider {name:?}{meant}; known: {}", names.join(", ")));
}

//! The reference of all keys: documented, with defaults that are read and within their limits.

use super::load_github;
use crate::config::keys;
use std::collections::BTreeSet;

#[test]
fn every_key_is_listed_once_with_a_default_and_a_meaning() {
    let keys = keys();
    let paths: BTreeSet<_> = keys.iter().map(|key| key.path.as_str()).collect();
    assert_eq!(paths.len(), keys.len());
    for key in &keys {
        assert!(!key.default.is_empty(), "{} has no default", key.path);
        assert!(key.meaning.len() > 20, "{} has no meaning", key.path);
        assert!(!key.meaning.contains("  "), "{}: {}", key.path, key.meaning);
    }
    for path in [
        "server.listen",
        "store.url",
        "retention.keys",
        "sources.*.secrets",
        "destinations.*.type",
        "destinations.*.headers",
        "routes[].on_dead",
    ] {
        assert!(paths.contains(path), "{path} in {paths:?}");
    }
}

#[test]
fn what_is_shown_without_a_setting_is_the_default_of_the_reference() {
    let config = load_github("", &[]).expect("loads");
    for key in keys() {
        let Some((section, name)) = key.path.split_once('.') else { continue };
        if !["server", "admin", "store", "workers", "retention", "alarms"].contains(&section) {
            continue;
        }
        let shown = &config.shown()[section][name];
        let text = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
        let unset = shown.is_null() || shown.as_object().is_some_and(|all| all.is_empty());
        let worded = unset || key.default.contains('<');
        assert!(worded || text == key.default, "{}: {text} is not {}", key.path, key.default);
    }
}

#[test]
fn every_limit_and_every_default_of_the_reference_is_within_itself() {
    for key in keys().iter().filter(|key| !key.path.contains(['*', '['])) {
        let Some((least, greatest)) = key.limits else { continue };
        for value in [least, greatest] {
            let variable = format!("POSTHOUSE__{}", key.path.replace('.', "__").to_uppercase());
            let found = load_github("", &[(&variable, value)]).err().unwrap_or_default();
            let own = found.iter().any(|fault| {
                fault.starts_with(&format!("{}: must lie", key.path))
                    || fault.starts_with(&format!("{}: expected", key.path))
            });
            assert!(!own, "{found:?}");
        }
    }
}

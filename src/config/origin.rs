//! Makes sources of `[sources.NAME]`: the provider, its secrets, and limits that depend on it.
//!
//! A source without proof must say so itself; never becomes unsigned because something is missing.

use super::check::names;
use super::provider::provider;
use super::raw::{Raw, SourceKeys};
use super::read::Place;
use super::scalars::PublicUrl;
use super::secret::{Held, kept};
use super::units::Size;
use crate::source::Source;
use providers::{Coverage, Provider, Secret};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checks all sources, and fills in what was left out.
pub(super) fn sources(raw: &mut Raw, root: &Place<'_>) -> Vec<Source> {
    let at = root.key("sources");
    if raw.sources.is_empty() && !at.is_faulty() {
        at.fault("there is none; add [sources.NAME] with a provider and secrets");
    }
    names(&raw.sources, &at);
    let defaults = Defaults {
        base: raw.server.public_url.clone(),
        keys: raw.retention.keys,
        bodies: raw.retention.bodies,
        data_dir: raw.store.data_dir.clone(),
    };
    let checked = raw.sources.iter_mut();
    checked.filter_map(|(name, keys)| source(name, keys, &defaults, &at.key(name))).collect()
}

/// What other sections say about sources.
struct Defaults {
    base: Option<PublicUrl>,
    keys: Duration,
    bodies: Duration,
    data_dir: PathBuf,
}

fn source(name: &str, keys: &mut SourceKeys, all: &Defaults, at: &Place<'_>) -> Option<Source> {
    let provider = provider(keys, at);
    // No name has a dot in it, so no other file of the directory is called so.
    let handed_path = all.data_dir.join(format!("{name}.secret"));
    let handed = handed(keys, &handed_path, at);
    let secrets = secrets(keys, provider, handed, at);
    let provider = provider?;
    let horizon = Duration::from_secs(u64::from(provider.horizon_days()) * 86_400);
    let is_default = keys.keep_keys.is_none();
    let keep_keys = *keys.keep_keys.get_or_insert(all.keys.max(horizon));
    if keep_keys < all.bodies && !is_default {
        at.key("keep_keys").fault("must not be less than retention.bodies");
    } else if keep_keys < horizon {
        let days = provider.horizon_days();
        at.key("keep_keys").note(&format!("{} may redeliver for {days} days", provider.name()));
    }
    if !keys.unsigned && provider.coverage() != Coverage::Body {
        at.note("its signature proves who sent a request, not what is in it");
    }
    let body_max = *keys.body_max.get_or_insert(Size(provider.body_bytes_max()));
    let derived =
        |base: &PublicUrl| PublicUrl(format!("{}/hooks/{name}", base.0.trim_end_matches('/')));
    keys.public_url = keys.public_url.take().or_else(|| all.base.as_ref().map(derived));
    Some(Source {
        name: name.into(),
        provider,
        secrets,
        unsigned: keys.unsigned,
        disabled: keys.disabled,
        body_bytes_max: body_max.0,
        tolerance_s: i64::try_from(keys.tolerance.as_secs()).unwrap_or(i64::MAX),
        public_url: keys.public_url.clone().map(|url| url.0),
        rate_per_s: keys.rate,
        keep_keys,
        silent_after: keys.silent_after,
        split: keys.split,
        verify_token: keys.verify_token.as_ref().and_then(Held::secret).cloned(),
        pending: keys.pending,
        confirm: keys.confirm,
        handed_path,
        keys: pinned(keys, at),
    })
}

/// The pinned keys. A URL that none can be fetched from is a slip that nobody would notice.
fn pinned(keys: &SourceKeys, at: &Place<'_>) -> BTreeMap<String, Secret> {
    for url in keys.keys.keys().filter(|url| !url.starts_with("https://")) {
        at.key("keys").key(url).fault("is not under an https URL, as every key of a sender is");
    }
    let secret = |(url, held): (&String, &Held)| Some((url.clone(), held.secret()?.clone()));
    keys.keys.iter().filter_map(secret).collect()
}

/// The secret that the sender handed over, if it did.
fn handed(keys: &SourceKeys, path: &Path, at: &Place<'_>) -> Option<Secret> {
    let at = at.key("pending");
    let secret = kept(path, &at);
    let path = path.display();
    match (&secret, keys.pending) {
        (Some(_), true) => at.note(&format!("the sender's secret is in {path}: take this away")),
        (Some(_), false) => at.note(&format!("the secret in {path} is good as well")),
        (None, true) => at.note("takes the secret of whoever hands over the first one"),
        (None, false) => {}
    }
    secret
}

/// The secrets, each as its provider wants it; none only if the source says `unsigned`, or if its
/// sender is yet to hand one over.
fn secrets(
    keys: &SourceKeys,
    provider: Option<&dyn Provider>,
    handed: Option<Secret>,
    at: &Place<'_>,
) -> Vec<Secret> {
    let list = at.key("secrets");
    match (keys.secrets.is_empty(), keys.unsigned) {
        (true, false) if keys.pending || handed.is_some() => {}
        (_, true) if keys.pending => at.key("pending").fault("must not be true beside unsigned"),
        (false, true) => at.key("unsigned").fault("must not be true beside secrets"),
        (true, true) => at.note("accepts requests from anyone, because it is unsigned"),
        (true, false) if !list.is_faulty() => {
            list.fault("there is none; name one, or accept anyone by unsigned = true");
        }
        _ => {}
    }
    for (index, held) in keys.secrets.iter().enumerate() {
        let fault = held.secret().and_then(|secret| provider?.secret_fault(secret));
        if let Some(fault) = fault {
            list.index(index).fault(fault);
        }
    }
    keys.secrets.iter().filter_map(Held::secret).cloned().chain(handed).collect()
}

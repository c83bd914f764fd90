//! Makes sources of `[sources.NAME]`: the provider, its secrets, and limits that depend on it.
//!
//! A source without proof must say so itself; never becomes unsigned because something is missing.

use super::check::names;
use super::provider::provider;
use super::raw::{Raw, SourceKeys};
use super::read::Place;
use super::scalars::PublicUrl;
use super::secret::Held;
use super::units::Size;
use crate::source::Source;
use providers::{Coverage, Provider, Secret};
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
    };
    let checked = raw.sources.iter_mut();
    checked.filter_map(|(name, keys)| source(name, keys, &defaults, &at.key(name))).collect()
}

/// What other sections say about sources.
struct Defaults {
    base: Option<PublicUrl>,
    keys: Duration,
    bodies: Duration,
}

fn source(name: &str, keys: &mut SourceKeys, all: &Defaults, at: &Place<'_>) -> Option<Source> {
    let provider = provider(keys, at);
    let secrets = secrets(keys, provider, at);
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
    })
}

/// The secrets, each as its provider wants it; none only if the source says `unsigned`.
fn secrets(keys: &SourceKeys, provider: Option<&dyn Provider>, at: &Place<'_>) -> Vec<Secret> {
    let list = at.key("secrets");
    match (keys.secrets.is_empty(), keys.unsigned) {
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
    keys.secrets.iter().filter_map(Held::secret).cloned().collect()
}

//! Makes destinations of `[destinations.NAME]`.
//!
//! A key that the type of destination has no use for is a fault: it was meant for something.
//! Never resolves or contacts a destination.

use super::check::{names, required};
use super::raw::{AcceptKeys, CircuitKeys, DestinationKeys, Raw};
use super::read::{Kind, Place};
use super::scalars::Way;
use super::secret::{Held, Located};
use crate::source::{
    Accept, Circuit, CommandDestination, Destination, HttpDestination, Reconcile, Target,
};
use providers::Secret;
use reqwest::header::{HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An endpoint should take a delivery and answer; the work comes after that.
const HTTP_TIMEOUT: Duration = Duration::from_secs(15);
/// A program or a handler does its work before it ends.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(30);
/// Two lost packets are sent again within three seconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Headers that the client sets itself; a second one would break the request.
const RESERVED: [&str; 5] = ["connection", "content-length", "host", "te", "transfer-encoding"];

/// Checks all destinations, and fills in what was left out.
pub(super) fn destinations(raw: &mut Raw, root: &Place<'_>) -> BTreeMap<Arc<str>, Destination> {
    let at = root.key("destinations");
    names(&raw.destinations, &at);
    let checked = raw
        .destinations
        .iter_mut()
        .filter_map(|(name, keys)| Some((name.as_str().into(), destination(keys, &at.key(name))?)));
    checked.collect()
}

fn destination(keys: &mut DestinationKeys, at: &Place<'_>) -> Option<Destination> {
    let way = required(&keys.r#type, &at.key("type"))?;
    refuse_foreign(keys, way, at);
    let idempotent = *keys.idempotent.get_or_insert(way != Way::Command);
    let allow_private = keys.allow_private.unwrap_or(false);
    let reconcile = keys.reconcile.as_ref().and_then(|url| question(url, &at.key("reconcile")));
    let reconcile = reconcile.map(|url| Reconcile { url, allow_private });
    if keys.reconcile.is_some() && idempotent {
        at.key("reconcile").fault("is of use with idempotent = false only: else nothing is asked");
    }
    let target = match way {
        Way::Log => Some(Target::Log),
        Way::Handler => {
            let timeout = *keys.timeout.get_or_insert(PROCESS_TIMEOUT);
            Some(Target::Handler { timeout })
        }
        Way::Command => command(keys, at),
        Way::Http => http(keys, at),
    };
    if way == Way::Http && keys.circuit.is_none() {
        keys.circuit = CircuitKeys::absent(&at.key("circuit"));
    }
    let circuit = keys.circuit.as_ref().filter(|keys| keys.enabled).map(|keys| Circuit {
        failures_percent: keys.failures,
        window: keys.window,
        attempts_min: keys.attempts,
        cooldown: keys.cooldown,
    });
    Some(Destination {
        target: target?,
        body_bytes_max: keys.body_max.map(|size| size.0),
        idempotent,
        reconcile,
        circuit,
        rate_per_s: keys.rate,
        concurrency: keys.concurrency,
    })
}

/// A URL to ask whether a delivery happened.
fn question(url: &Located, at: &Place<'_>) -> Option<String> {
    let text = url.text()?;
    let parsed = url::Url::parse(&text.replace(Reconcile::KEY, "key")).ok();
    let is_http = parsed.is_some_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_http || !text.contains(Reconcile::KEY) {
        at.fault("expected a URL such as https://example.com/done/{idempotency_key}");
        return None;
    }
    Some(text.to_owned())
}

/// What an answer must say.
fn accept(keys: &AcceptKeys, at: &Place<'_>) -> Option<Accept> {
    let json = required(&keys.json, &at.key("json"))?;
    if let Some(fault) = providers::json::pointer_fault(&json) {
        at.key("json").fault(fault);
    }
    let equals = required(&keys.equals, &at.key("equals"))?.0;
    Some(Accept { json, equals })
}

/// Keys of another type of destination.
fn refuse_foreign(keys: &DestinationKeys, way: Way, at: &Place<'_>) {
    let (http, command) = (way == Way::Http, way == Way::Command);
    let timed = way != Way::Log;
    let given = [
        ("url", keys.url.is_some(), http),
        ("headers", !keys.headers.is_empty(), http),
        ("connect_timeout", keys.connect_timeout.is_some(), http),
        ("allow_private", keys.allow_private.is_some(), http || keys.reconcile.is_some()),
        ("sign_with", keys.sign_with.is_some(), http),
        ("accept", keys.accept.is_some(), http),
        ("timeout", keys.timeout.is_some(), timed),
        ("argv", !keys.argv.is_empty(), command),
    ];
    for (key, _, _) in given.iter().filter(|(_, given, wanted)| *given && !*wanted) {
        at.key(key).fault("has no use for this type of destination");
    }
}

fn command(keys: &mut DestinationKeys, at: &Place<'_>) -> Option<Target> {
    let argv = at.key("argv");
    if keys.argv.first().is_none_or(String::is_empty) {
        if !argv.is_faulty() {
            argv.fault("the program is missing, such as argv = [\"/usr/local/bin/deploy\"]");
        }
        return None;
    }
    if keys.argv.iter().any(|word| word.contains('\0')) {
        argv.fault("an argument must not have a NUL in it");
    }
    let timeout = *keys.timeout.get_or_insert(PROCESS_TIMEOUT);
    Some(Target::Command(CommandDestination { argv: keys.argv.clone(), timeout }))
}

fn http(keys: &mut DestinationKeys, at: &Place<'_>) -> Option<Target> {
    let headers = headers(&keys.headers, &at.key("headers"));
    let url = required(&keys.url, &at.key("url")).and_then(|url| address(&url, &at.key("url")));
    let connect_timeout = *keys.connect_timeout.get_or_insert(CONNECT_TIMEOUT);
    let timeout = *keys.timeout.get_or_insert(HTTP_TIMEOUT);
    let allow_private = *keys.allow_private.get_or_insert(false);
    let sign_with = keys.sign_with.as_ref().and_then(Held::secret).cloned();
    let standard = sign_with
        .as_ref()
        .and_then(|secret| providers::find("standard_webhooks")?.secret_fault(secret));
    if let Some(fault) = standard {
        at.key("sign_with").fault(fault);
    }
    let accept = keys.accept.as_ref().and_then(|keys| accept(keys, &at.key("accept")));
    Some(Target::Http(Box::new(HttpDestination {
        url: url?,
        headers,
        connect_timeout,
        timeout,
        allow_private,
        sign_with,
        accept,
    })))
}

/// The URL of an endpoint. It is not repeated in faults: it may have a password in it.
pub(super) fn address(url: &Located, at: &Place<'_>) -> Option<url::Url> {
    let url = url::Url::parse(url.text()?).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        at.fault("expected a URL that begins with http:// or https://");
        return None;
    };
    if !url.username().is_empty() || url.password().is_some() {
        at.fault(
            "must have no user name and password in it; put them into an Authorization header",
        );
    }
    if url.fragment().is_some() {
        at.fault("must have no fragment in it, which would never be sent");
    }
    Some(url)
}

/// Headers by their lower-case names; their values are secrets.
pub(super) fn headers(list: &BTreeMap<String, Held>, at: &Place<'_>) -> BTreeMap<String, Secret> {
    let mut checked = BTreeMap::new();
    for (name, held) in list {
        let at = at.key(name);
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(lower.as_bytes()).is_err() {
            at.fault("is not the name of a header");
        } else if RESERVED.contains(&lower.as_str()) {
            at.fault("is a header that the client sets itself");
        }
        let Some(secret) = held.secret() else { continue };
        if HeaderValue::from_str(secret.expose()).is_err() {
            at.fault("refers to something that cannot be the value of a header");
        }
        if checked.insert(lower, secret.clone()).is_some() {
            at.fault("is given twice, in different case");
        }
    }
    checked
}

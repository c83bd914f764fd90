//! Makes routes of `[[routes]]`.
//!
//! Both ends of a route must be configured. Never makes a route that was not written.

use super::check::{is_name, required};
use super::raw::{Raw, RouteKeys};
use super::read::Place;
use crate::source::{Destination, Order, Retry, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A route is usually called after two names and a hyphen.
const NAME_BYTES_MAX: usize = 64 + 1 + 64;
/// Kinds of event are short, and matching costs time at every delivery.
const PATTERN_BYTES_MAX: usize = 256;
/// Asterisks in a pattern: each multiplies the time that a mismatch takes.
const ASTERISKS_MAX: usize = 4;

/// Checks all routes, and fills in their names.
pub(super) fn routes(
    raw: &mut Raw,
    destinations: &BTreeMap<Arc<str>, Destination>,
    root: &Place<'_>,
) -> Vec<Route> {
    let at = root.key("routes");
    if raw.routes.is_empty() && !at.is_faulty() {
        at.fault("there is none; add [[routes]] with a source and a destination");
    }
    let mut checked = Vec::new();
    let mut taken = BTreeMap::new();
    for (index, keys) in raw.routes.iter_mut().enumerate() {
        let at = at.index(index);
        let source = end(&keys.source, "source", &raw.sources, &at);
        let destination = end(&keys.destination, "destination", &raw.destinations, &at);
        let (Some(source), Some(destination)) = (source, destination) else { continue };
        let default = format!("{source}-{destination}");
        let name = keys.name.get_or_insert(default).clone();
        if !is_name(&name, NAME_BYTES_MAX) {
            at.key("name").fault(format!(
                "names are up to {NAME_BYTES_MAX} lower case letters, digits, \"_\" and \"-\", and \
                 begin with a letter or a digit"
            ));
        }
        if let Some(first) = taken.insert(name.to_ascii_lowercase(), index) {
            at.key("name").fault(format!("is the same as that of routes[{first}]: {name}"));
        }
        let mut route = route(&name, &source, &destination, keys, &at);
        if let Some(destination) = destinations.get(&*destination) {
            route.idempotent = destination.idempotent;
            route.reconciles = destination.reconcile.is_some();
        }
        checked.push(route);
    }
    share_places(&mut checked, destinations);
    checked
}

/// Tells the routes of a destination that bounds what runs at once of one another.
fn share_places(routes: &mut [Route], destinations: &BTreeMap<Arc<str>, Destination>) {
    let mut of_destination: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for route in routes.iter() {
        of_destination.entry(route.destination.clone()).or_default().push(route.name.clone());
    }
    for route in routes {
        let bounded = destinations.get(&route.destination).and_then(|to| to.concurrency);
        let sharing = of_destination.get(&route.destination).filter(|_| bounded.is_some());
        route.frees = sharing.map(|names| names.as_slice().into()).unwrap_or_default();
    }
}

/// One end of a route, which must be there.
fn end<T>(
    name: &Option<String>,
    key: &str,
    known: &BTreeMap<String, T>,
    at: &Place<'_>,
) -> Option<String> {
    let name = required(name, &at.key(key))?;
    if !known.contains_key(&name) {
        let names: Vec<_> = known.keys().map(String::as_str).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        at.key(key).fault(format!("there is no {key} {name:?}; known: {names}"));
    }
    Some(name)
}

fn route(name: &str, source: &str, to: &str, keys: &RouteKeys, at: &Place<'_>) -> Route {
    if keys.backoff > keys.backoff_max {
        at.key("backoff").fault("must not be more than backoff_max");
    }
    if !keys.hold.is_zero() && !keys.order.is_by_position() {
        at.key("hold").fault("is of use with order = \"occurred\" and \"latest\" only");
    }
    if keys.order_by.is_some() && keys.order == Order::None {
        at.key("order_by").fault("is of no use with order = \"none\"");
    }
    let events = keys.events.clone().unwrap_or_default();
    let list = at.key("events");
    if keys.events.is_some() && events.is_empty() {
        list.fault("matches nothing; leave the key out for every kind of event");
    }
    for (index, pattern) in events.iter().enumerate() {
        let asterisks = pattern.bytes().filter(|byte| *byte == b'*').count();
        if pattern.is_empty() || pattern.len() > PATTERN_BYTES_MAX || asterisks > ASTERISKS_MAX {
            list.index(index).fault(format!(
                "expected 1 to {PATTERN_BYTES_MAX} characters with at most {ASTERISKS_MAX} \"*\""
            ));
        }
    }
    Route {
        name: name.into(),
        source: source.into(),
        destination: to.into(),
        events,
        order: keys.order,
        order_by: keys.order_by.clone(),
        hold: keys.hold,
        retry: Retry {
            max_attempts: keys.max_attempts,
            max_age: keys.max_age,
            base: keys.backoff,
            cap: keys.backoff_max,
            retry_on: keys.retry_on.clone(),
            dead_on: keys.dead_on.clone(),
        },
        on_dead: keys.on_dead,
        on_uncertain: keys.on_uncertain,
        idempotent: true,
        reconciles: false,
        frees: Arc::default(),
    }
}

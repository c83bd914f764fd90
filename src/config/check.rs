//! Makes the checked configuration of the raw one: whatever depends on more than one key.
//!
//! Goes on after a fault, so that all are reported at once. Never writes anything, and reads
//! nothing but the secrets that senders handed over.

use super::raw::Raw;
use super::read::{Kind, Place, Reading};
use super::secret::{Held, Located};
use super::sections::{Admin, Quarantine, Store};
use super::{Config, Database, alarms, destination, origin, route};
use crate::source::{Destination, Route, Source};
use providers::Secret;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Names of sources and destinations: they stand in URLs, metrics and file names.
const NAME_BYTES_MAX: usize = 64;

/// Checks everything. The result is of use only if the reading has no faults.
pub(super) fn check(mut raw: Raw, reading: &Reading) -> Option<Config> {
    let root = Place { reading, path: String::new() };
    listeners(&raw, &root);
    if raw.retention.keys < raw.retention.bodies {
        let message = "must not be less than retention.bodies: a key without its delivery protects \
            nothing, a delivery without its key could be recorded twice";
        root.key("retention").key("keys").fault(message);
    }
    let database = database(&mut raw.store, &root);
    let sources = origin::sources(&mut raw, &root);
    memory(&raw, &root);
    let destinations = destination::destinations(&mut raw, &root);
    let routes = route::routes(&mut raw, &destinations, &root);
    let alarm_destination = alarms::destination(&raw.alarms, &root.key("alarms"));
    remark_unused(&raw, &root);
    remark_narrow(&sources, &destinations, &routes, &root);
    let shown = raw.show();
    Some(Config {
        server: raw.server,
        admin: raw.admin,
        store: raw.store,
        database: database?,
        workers: raw.workers,
        keys: raw.keys,
        quarantine: raw.quarantine,
        retention: raw.retention,
        alarms: raw.alarms,
        alarm_destination,
        sources: sources.into_iter().map(|source| (source.name.clone(), source.into())).collect(),
        destinations,
        routes: routes.into_iter().map(Arc::new).collect(),
        notes: reading.notes.take(),
        shown,
    })
}

/// The value of a key that must be there.
pub(super) fn required<T: Clone>(value: &Option<T>, at: &Place<'_>) -> Option<T> {
    if value.is_none() && !at.is_faulty() {
        at.fault("is missing");
    }
    value.clone()
}

/// Whether every name of a table is well-formed; two that differ only in case never are.
pub(super) fn names<T>(entries: &BTreeMap<String, T>, at: &Place<'_>) {
    for name in entries.keys().filter(|name| !is_name(name, NAME_BYTES_MAX)) {
        let lower = name.to_ascii_lowercase();
        let twin = lower != **name && entries.contains_key(&lower);
        let twin =
            if twin { format!("; it differs from {lower} only in case") } else { String::new() };
        at.key(name).fault(format!(
            "names are up to {NAME_BYTES_MAX} lower case letters, digits, \"_\" and \"-\", and \
             begin with a letter or a digit{twin}"
        ));
    }
}

/// Whether a text may name something.
pub(super) fn is_name(text: &str, bytes_max: usize) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte != b'_' && byte != b'-');
    let rest = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    first && text.len() <= bytes_max && text.bytes().all(rest)
}

/// Two listeners that do not collide, and no open admin listener without a known token.
fn listeners(raw: &Raw, root: &Place<'_>) {
    let (public, admin) = (raw.server.listen, raw.admin.listen);
    let at = root.key("admin").key("listen");
    let covers =
        |one: SocketAddr, other: SocketAddr| one.ip() == other.ip() || one.ip().is_unspecified();
    let same_port = public.port() == admin.port() && public.port() != 0;
    if same_port && (covers(public, admin) || covers(admin, public)) {
        at.fault("is the same as server.listen: the two must be separate");
    }
    if !admin.ip().is_loopback() && raw.admin.token.is_none() && !at.key("token").is_faulty() {
        at.fault("is not a loopback address; that needs an admin.token of your own choice");
    }
    let base = raw.server.public_url.as_ref();
    if base.is_some_and(|base| base.0.contains('?')) {
        root.key("server").key("public_url").fault("must have no query: paths are appended to it");
    }
}

/// Where the store is.
fn database(store: &mut Store, root: &Place<'_>) -> Option<Database> {
    let at = root.key("store").key("url");
    let Some(url) = &store.url else {
        let path = store.data_dir.join("posthouse.db");
        store.url = Some(Located::plain(&format!("sqlite:{}", path.display())));
        return Some(Database::Sqlite(path));
    };
    let url = url.text()?;
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some("sqlite") => {
            let path = &url["sqlite:".len()..];
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.contains('?') || path.contains(":memory:") {
                at.fault("expected sqlite: and the path of a file, without options");
                return None;
            }
            Some(Database::Sqlite(path.into()))
        }
        Some("postgres" | "postgresql") if url::Url::parse(url).is_ok() => {
            Secret::new(url).map(Database::Postgres)
        }
        _ => {
            at.fault("expected sqlite:PATH or postgres://USER@HOST/DATABASE");
            None
        }
    }
}

/// A route whose source takes larger bodies than its destination: those will be dead letters.
fn remark_narrow(
    sources: &[Source],
    destinations: &BTreeMap<Arc<str>, Destination>,
    routes: &[Route],
    root: &Place<'_>,
) {
    for route in routes {
        let source = sources.iter().find(|source| source.name == route.source);
        let limit = destinations.get(&route.destination).and_then(|to| to.body_bytes_max);
        let (Some(source), Some(limit)) = (source, limit) else { continue };
        if limit < source.body_bytes_max {
            let at = root.key("destinations").key(&route.destination).key("body_max");
            at.note(&format!(
                "the source {} takes bodies of up to {} bytes; larger ones than {limit} will be \
                 dead letters here",
                source.name, source.body_bytes_max
            ));
        }
    }
}

/// The largest body must fit into what is set aside for bodies, or it could never be accepted.
fn memory(raw: &Raw, root: &Place<'_>) {
    let sizes = raw.sources.iter().filter_map(|(name, source)| Some((source.body_max?, name)));
    let Some((largest, name)) = sizes.max() else { return };
    let limits = [
        ("server", "body_memory", raw.server.body_memory),
        ("store", "queue_bytes", raw.store.queue_bytes),
    ];
    for (section, key, limit) in limits {
        if limit < largest {
            let message = format!("must not be less than sources.{name}.body_max");
            root.key(section).key(key).fault(message);
        }
    }
}

/// What is configured and never used.
fn remark_unused(raw: &Raw, root: &Place<'_>) {
    for (name, source) in &raw.sources {
        let routed = raw.routes.iter().any(|route| route.source.as_ref() == Some(name));
        if !routed && !source.disabled {
            root.key("sources").key(name).note("has no route: it records, and nothing runs");
        }
    }
    for name in raw.destinations.keys() {
        if !raw.routes.iter().any(|route| route.destination.as_ref() == Some(name)) {
            root.key("destinations").key(name).note("has no route: nothing is sent to it");
        }
    }
}

impl Database {
    /// The URL to open it by. It may have a password in it.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => url.expose().to_owned(),
        }
    }
}

impl Admin {
    /// The configured token.
    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref().and_then(Held::secret)
    }
}

impl Quarantine {
    /// The configured key.
    pub fn key(&self) -> Option<&Secret> {
        self.key.as_ref().and_then(Held::secret)
    }
}

impl Store {
    /// Where a generated admin token is kept.
    pub fn token_path(&self) -> PathBuf {
        self.data_dir.join("admin-token")
    }
}

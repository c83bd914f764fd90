//! What commands share before they start: the configuration and a runtime.

use super::Global;
use super::failure::Failure;
use crate::config::{Config, DEFAULT_FILE, Fault, Files, process_environment};
use ::config::{ConfigError, Environment, File, FileFormat};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// Reads `KEY=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE, such as server.listen=0.0.0.0:8080".into()),
    }
}

/// The configuration, or all faults in it.
pub(super) fn load(
    global: &Global,
    mut overrides: Vec<(String, String)>,
    files: Files,
) -> Result<Config, Vec<Fault>> {
    overrides.extend(global.set.iter().cloned());
    Config::load(global.config.as_deref(), overrides, process_environment(), files)
}

/// What a client of the server needs of the configuration: where it listens and its token.
const FOR_CLIENTS: [&str; 4] = ["server.listen", "admin.listen", "admin.token", "store.data_dir"];

/// What stands in for the sections that a client does not need; a configuration must have them.
const STAND_IN: &str = r#"
    sources.none = { provider = "github", unsigned = true, disabled = true }
    destinations.none = { type = "log" }
    routes = [{ source = "none", destination = "none" }]
"#;

/// The configuration for a client of the running server.
///
/// An operator's shell often lacks the secrets that the server was started with. Then only what
/// [`FOR_CLIENTS`] names is read, and faults elsewhere do not matter.
pub(super) fn load_for_client(global: &Global) -> Result<Config, Failure> {
    load(global, Vec::new(), Files::Untouched).or_else(|faults| {
        let is_needed = |fault: &Fault| {
            fault.path.is_empty() || FOR_CLIENTS.iter().any(|key| fault.path == *key)
        };
        if faults.iter().any(is_needed) {
            return Err(Failure::of_configuration(&faults));
        }
        let file = global.config.as_deref().unwrap_or(Path::new(DEFAULT_FILE));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let reduced = reduced(&text, process_environment(), &global.set);
        reduced.map_err(|faults| Failure::of_configuration(&faults))
    })
}

fn reduced(
    text: &str,
    environment: BTreeMap<String, String>,
    flags: &[(String, String)],
) -> Result<Config, Vec<Fault>> {
    let (variables, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = environment
        .into_iter()
        .partition(|(name, _)| name.to_ascii_uppercase().starts_with("POSTHOUSE__"));
    let variables = variables.into_iter().collect();
    let variables = Environment::with_prefix("POSTHOUSE").separator("__").source(Some(variables));
    let layers = ::config::Config::builder()
        .add_source(File::from_str(text, FileFormat::Toml))
        .add_source(variables);
    let wrong =
        |error: ConfigError| vec![Fault { path: String::new(), message: error.to_string() }];
    let tree = layers.build().map_err(wrong)?;
    let given = |key: &&str| Some(((*key).to_owned(), tree.get_string(key).ok()?));
    let mut overrides: Vec<_> = FOR_CLIENTS.iter().filter_map(given).collect();
    let flags = flags.iter().filter(|(key, _)| FOR_CLIENTS.contains(&key.as_str()));
    overrides.extend(flags.cloned());
    Config::from_text(Some(STAND_IN), overrides, rest, Files::Untouched)
}

/// Where a listener is reached from the same machine.
pub(super) fn reached_at(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Runs a command to its end, on one thread: commands wait more than they work.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
    runtime.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_no_secret_of_a_source() {
        let text = "
            [admin]
            listen = \"127.0.0.1:9001\"
            token = \"env:TOKEN\"
            [sources.github]
            provider = \"github\"
            secrets = [\"env:NOT_SET\"]
        ";
        let environment = [("TOKEN", "lantern-41"), ("POSTHOUSE__STORE__DATA_DIR", "/var/ph")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let flags = [("admin.listen".to_owned(), "127.0.0.1:9002".to_owned())];
        let config = reduced(text, environment.into(), &flags).unwrap();
        assert_eq!(config.admin.listen.to_string(), "127.0.0.1:9002");
        assert_eq!(config.admin.token().unwrap().expose(), "lantern-41");
        assert_eq!(config.store.data_dir, Path::new("/var/ph"));
    }

    #[test]
    fn a_listener_on_every_address_is_reached_by_loopback() {
        let cases = [
            ("0.0.0.0:8081", "127.0.0.1:8081"),
            ("[::]:8081", "[::1]:8081"),
            ("10.0.0.7:80", "10.0.0.7:80"),
        ];
        for (listen, reached) in cases {
            let listen: SocketAddr = listen.parse().unwrap();
            assert_eq!(reached_at(listen).to_string(), reached);
        }
    }
}

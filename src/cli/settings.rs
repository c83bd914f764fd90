//! What commands share before they start: the configuration and a runtime.

use super::Global;
use super::failure::Failure;
use crate::config::{Config, Fault, Files, process_environment};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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

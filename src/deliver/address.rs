//! Which addresses may be called: public ones, unless a destination says `allow_private`.
//!
//! The address is judged after resolution and is then the one that is connected to, so a name
//! that resolves differently a moment later gains nothing. Nothing here opens a connection.
//! The ranges are those of IANA's special-purpose registries for IPv4 and IPv6.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// An address that policy forbids to call.
#[derive(Debug, thiserror::Error)]
pub(super) struct Forbidden {
    /// The name that led to it; `None` when the URL has the address itself.
    host: Option<String>,
    address: IpAddr,
    range: &'static str,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "address {}", self.address)?;
        if let Some(host) = &self.host {
            write!(out, " of host {host}")?;
        }
        write!(out, " is {}; set allow_private = true to call it all the same", self.range)
    }
}

/// Judges a URL whose host is an address. The client resolves only names, so [`PublicOnly`]
/// never sees these. Odd spellings (`0x7f.1`, `2130706433`) are addresses to `Url` already.
pub(super) fn forbidden_literal(url: &Url) -> Option<Forbidden> {
    let address = match url.host()? {
        Host::Domain(_) => return None,
        Host::Ipv4(v4) => IpAddr::V4(v4),
        Host::Ipv6(v6) => IpAddr::V6(v6),
    };
    Some(Forbidden { host: None, address, range: range(address)? })
}

/// Resolves names as the system does and leaves out what may not be called.
pub(crate) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<SocketAddr> = match is_localhost(host) {
                true => vec![(Ipv4Addr::LOCALHOST, 0).into()],
                false => tokio::net::lookup_host((host, 0)).await?.collect(),
            };
            let addresses: Addrs = Box::new(public(host, found)?.into_iter());
            Ok(addresses)
        })
    }
}

/// RFC 6761: these names mean this machine, whatever a name server says.
fn is_localhost(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// The public ones among the addresses of a host; an error when there are only others.
fn public(host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Forbidden> {
    let mut forbidden = None;
    let mut kept = Vec::with_capacity(found.len());
    for socket in found {
        match range(socket.ip()) {
            None => kept.push(socket),
            Some(range) => {
                let (host, address) = (Some(host.to_owned()), socket.ip());
                forbidden.get_or_insert(Forbidden { host, address, range });
            }
        }
    }
    match forbidden {
        Some(forbidden) if kept.is_empty() => Err(forbidden),
        _ => Ok(kept),
    }
}

/// The name of the special range an address is in; `None` for a public address.
fn range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => range_v4(v4),
        IpAddr::V6(v6) => range_v6(v6),
    }
}

fn range_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("unspecified"),
        [127, ..] => Some("loopback"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Some("private"),
        [100, 64..=127, ..] => Some("carrier-grade NAT"),
        // AWS, Google, Azure and others; the second is Azure's, in an otherwise public range.
        [169, 254, 169, 254] | [168, 63, 129, 16] => Some("a metadata service"),
        [169, 254, ..] => Some("link-local"),
        [198, 18..=19, ..] => Some("benchmarking"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("documentation"),
        [192, 0, 0, _] | [192, 88, 99, _] => Some("reserved"),
        [224..=239, ..] => Some("multicast"),
        [255, 255, 255, 255] => Some("broadcast"),
        [240..=255, ..] => Some("reserved"),
        _ => None,
    }
}

fn range_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0] if g == 0 && h == 0 => Some("unspecified"),
        [0, 0, 0, 0, 0, 0] if g == 0 && h == 1 => Some("loopback"),
        // IPv4-compatible, IPv4-mapped, IPv4-translated, and what a NAT64 makes of an IPv4
        // address: whoever carries the packet on sends it to the IPv4 address inside.
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            range_v4(v4(g, h))
        }
        [0x64, 0xff9b, 1, ..] => Some("local NAT64"),
        [0x2002, ..] => range_v4(v4(b, c)),
        [0xfc00..=0xfdff, ..] => Some("unique local"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        // Teredo, benchmarking, ORCHID and other protocols' own.
        [0x2001, 0..=0x01ff, ..] => Some("reserved"),
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("documentation"),
        // All that is assigned for the public Internet.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const JUDGED: &[(&str, Option<&str>)] = &[
        ("1.1.1.1", None), ("9.255.255.255", None), ("11.0.0.0", None),
        ("172.15.0.1", None), ("172.32.0.1", None), ("100.63.0.1", None), ("100.128.0.1", None),
        ("198.17.0.1", None), ("198.20.0.1", None), ("223.255.255.255", None),
        ("0.0.0.0", Some("unspecified")), ("0.1.2.3", Some("unspecified")),
        ("10.0.0.5", Some("private")), ("172.16.0.1", Some("private")),
        ("172.31.255.255", Some("private")), ("192.168.1.1", Some("private")),
        ("100.64.0.1", Some("carrier-grade NAT")), ("100.127.9.9", Some("carrier-grade NAT")),
        ("127.0.0.1", Some("loopback")), ("127.255.255.254", Some("loopback")),
        ("169.254.0.1", Some("link-local")), ("169.254.169.254", Some("a metadata service")),
        ("168.63.129.16", Some("a metadata service")), ("168.63.129.17", None),
        ("192.0.0.192", Some("reserved")), ("192.0.2.1", Some("documentation")),
        ("198.51.100.1", Some("documentation")), ("203.0.113.1", Some("documentation")),
        ("198.18.0.1", Some("benchmarking")), ("198.19.255.255", Some("benchmarking")),
        ("224.0.0.1", Some("multicast")), ("239.255.255.255", Some("multicast")),
        ("240.0.0.1", Some("reserved")), ("255.255.255.255", Some("broadcast")),
        ("2606:4700::1111", None), ("2a00:1450::1", None), ("2001:4860::8888", None),
        ("::", Some("unspecified")), ("::1", Some("loopback")),
        ("::127.0.0.1", Some("loopback")), ("::ffff:127.0.0.1", Some("loopback")),
        ("::ffff:10.1.2.3", Some("private")), ("::ffff:1.1.1.1", None),
        ("::ffff:0:10.1.2.3", Some("private")),
        ("64:ff9b::7f00:1", Some("loopback")), ("64:ff9b::101:101", None),
        ("64:ff9b:1::1", Some("local NAT64")), ("64:ff9b::1:7f00:1", Some("reserved")),
        ("2002:7f00:1::1", Some("loopback")), ("2002:a00:1::", Some("private")),
        ("2002:101:101::", None), ("2001::1", Some("reserved")), ("2001:2::1", Some("reserved")),
        ("2001:db8::1", Some("documentation")), ("3fff:fff::1", Some("documentation")),
        ("fd00:ec2::254", Some("unique local")), ("fc00::1", Some("unique local")),
        ("fe80::1", Some("link-local")), ("febf::1", Some("link-local")),
        ("fec0::1", Some("reserved")), ("ff02::1", Some("multicast")),
        ("100::1", Some("reserved")), ("5f00::1", Some("reserved")), ("4000::1", Some("reserved")),
    ];

    #[test]
    fn every_special_range_is_known_and_its_neighbours_are_public() {
        for (address, expected) in JUDGED {
            assert_eq!(range(address.parse().unwrap()), *expected, "{address}");
        }
    }

    #[test]
    fn a_host_is_refused_only_when_all_its_addresses_are() {
        let socket = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let (inner, outer) = (socket("10.0.0.1"), socket("1.1.1.1"));
        assert_eq!(public("x", vec![inner, outer]).unwrap(), [outer]);
        let refusal = public("x", vec![inner]).unwrap_err().to_string();
        let start = "address 10.0.0.1 of host x is private; set allow_private = true";
        assert!(refusal.starts_with(start), "{refusal}");
    }
}

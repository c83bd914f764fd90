//! `[alarms]`: when to raise an alarm, and whom to tell beside the log.
//!
//! The destination is one like any other, so the same is asked of its URL and its headers. Never
//! calls it.

use super::destination::{address, headers};
use super::read::{Place, section};
use super::secret::{Held, Located};
use crate::source::HttpDestination;
use std::collections::BTreeMap;
use std::time::Duration;

section! {
    /// `[alarms]`: what is told without being asked for.
    Alarms {
        /// How often to look. Cheap, and sooner than people react.
        interval: Duration = "5s" ["100ms" to "10m"],
        /// Age of a job that could run and does not. Longer than restarts and retries take, short
        /// enough to be told before the first customer calls.
        oldest: Duration = "5m" ["1s" to "30d"],
        /// Where to POST alarms as JSON, or a reference to the URL, `env:NAME` or `file:/path`.
        /// They are in the log in any case.
        url: Option<Located> => "none: the log alone",
        /// Further headers; their values are references to secrets.
        headers: BTreeMap<String, Held> => "none",
        /// Time for one request. Alarms wait for one another, so it is short.
        timeout: Duration = "10s" ["10ms" to "5m"],
        /// May call private, loopback and link-local addresses. Off, as for destinations.
        allow_private: bool = "false",
    }
}

/// Where to send alarms, if they are to be sent.
pub(super) fn destination(keys: &Alarms, at: &Place<'_>) -> Option<HttpDestination> {
    let headers = headers(&keys.headers, &at.key("headers"));
    let Some(url) = &keys.url else {
        if !keys.headers.is_empty() {
            at.key("headers").fault("are of no use without a url");
        }
        return None;
    };
    Some(HttpDestination {
        url: address(url, &at.key("url"))?,
        headers,
        connect_timeout: keys.timeout,
        timeout: keys.timeout,
        allow_private: keys.allow_private,
        sign_with: None,
        accept: None,
    })
}

//! A refused request, and what of it may be shown.

use crate::delivery::{KeptHeaders, Micros};
use crate::diagnose::{Case, Diagnosis, diagnose};
use crate::source::Source;
use bytes::Bytes;
use providers::{Request, Secret, Window};
use std::sync::Arc;

/// More header bytes than this are not kept, and without them a request cannot be judged again.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Headers that describe a request and are no secret; the provider's own are shown as well.
const SHOWN: [&str; 8] = [
    "accept",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "host",
    "user-agent",
    "via",
];

/// The head of a refused request, as far as its proof may depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRequest {
    /// The method, upper case.
    pub method: String,
    /// Path and query as received.
    pub target: String,
    /// All headers but cookies.
    pub headers: KeptHeaders,
}

/// A refused request.
pub struct RefusedRequest {
    /// Its source.
    pub source: Arc<Source>,
    /// The secrets that none of which proved it.
    pub secrets: Vec<Secret>,
    /// When it was complete, by the wall clock.
    pub received_us: Micros,
    /// The label of its reason.
    pub reason: String,
    /// The reason in a sentence.
    pub detail: String,
    /// Its head.
    pub head: KeptRequest,
    /// Its body; empty if it is too long to be kept.
    pub body: Bytes,
    /// Bytes of the whole body.
    pub body_bytes: usize,
}

impl RefusedRequest {
    /// Whether its body is there.
    pub(super) fn is_whole(&self) -> bool {
        self.body.len() == self.body_bytes
    }

    /// Looks for the likely cause.
    pub(super) fn diagnose(&self, sources: &[Arc<Source>]) -> Diagnosis {
        let url = self.source.url(&self.head.target);
        let headers: Vec<(&str, &[u8])> =
            self.head.headers.0.iter().map(|(name, value)| (&**name, &**value)).collect();
        let (method, headers, body) = (&*self.head.method, &*headers, &*self.body);
        let (now_s, tolerance_s) = (self.received_us / 1_000_000, self.source.tolerance_s);
        diagnose(&Case {
            source: &self.source,
            secrets: &self.secrets,
            others: sources,
            request: Request { method, url: &url, headers, body },
            target: &self.head.target,
            is_whole: self.is_whole(),
            window: Window { now_s, tolerance_s },
            reason: &self.reason,
            detail: &self.detail,
        })
    }

    /// The header lines that may be shown: of all others only that they were there.
    pub(super) fn shown(&self) -> Vec<u8> {
        let own = self.source.provider.forwarded();
        let mut bytes = 0;
        let mut lines = Vec::new();
        for (name, value) in &self.head.headers.0 {
            let is_shown = SHOWN.contains(&&**name) || own.contains(&&**name);
            let value = if is_shown { value.clone() } else { b"(not shown)".to_vec() };
            bytes += name.len() + value.len() + 3;
            if bytes <= HEAD_BYTES_MAX {
                lines.push((name.clone(), value));
            }
        }
        KeptHeaders(lines).to_bytes()
    }
}

impl KeptRequest {
    /// Whether it is short enough to be kept.
    pub(super) fn is_short(&self) -> bool {
        self.bytes() <= HEAD_BYTES_MAX
    }

    fn bytes(&self) -> usize {
        let lines = self.headers.0.iter().map(|(name, value)| name.len() + value.len() + 3);
        self.method.len() + self.target.len() + lines.sum::<usize>()
    }
}

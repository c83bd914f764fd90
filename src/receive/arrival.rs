//! Makes an arrival of an event: what is kept of its request, and the jobs it is for.

use super::{Entry, Head};
use crate::delivery::{Arrival, KeptHeaders, Micros, PEER};
use bytes::Bytes;
use providers::{Coverage, Event, Part};
use sha2::{Digest, Sha256};

/// Headers kept with every delivery, besides the provider's own.
const KEPT: [&str; 3] = ["content-type", "content-encoding", "user-agent"];

/// More header bytes than this are not kept: the provider's own are far smaller.
const KEPT_BYTES: usize = 16 * 1024;

/// What an event out of a batch is: the request's own type is that of what carried it, such as a
/// form or `application/cloudevents-batch+json`.
const JSON: &[u8] = b"application/json";

/// What the proof of a request came to.
#[derive(Clone, Copy)]
pub(super) struct Proof {
    /// What it covers.
    pub(super) coverage: Coverage,
    /// Which secret it was made with; `None` where none is needed.
    pub(super) secret: Option<usize>,
    /// When the request was complete.
    pub(super) received_us: Micros,
}

pub(super) fn arrival(
    entry: &Entry,
    head: &Head<'_>,
    event: Event,
    body: &Bytes,
    headers: &[u8],
    proof: Proof,
) -> Arrival {
    let is_part = event.part.is_some();
    let body = match event.part {
        Some(Part::Slice(part)) => body.slice(part),
        Some(Part::Bytes(part)) => part.into(),
        None => body.clone(),
    };
    let is_json = is_part && body.first().is_some_and(|first| matches!(first, b'{' | b'['));
    let (content_type, headers) = match is_json {
        true => (Some(JSON), as_json(headers)),
        false => (head.header("content-type"), headers.to_vec()),
    };
    let jobs = entry.routes.iter().filter(|route| route.matches(&event.kind));
    let jobs = jobs.map(|route| route.plan(event.entity.as_deref(), content_type, &body)).collect();
    Arrival {
        source: entry.source.name.clone(),
        fingerprint: Sha256::digest(&body).into(),
        key: event.key,
        kind: event.kind,
        entity: event.entity,
        position: event.position,
        volatile: event.volatile.iter().map(|pointer| pointer.to_string()).collect(),
        coverage: proof.coverage,
        secret: proof.secret,
        received_us: proof.received_us,
        headers,
        body,
        jobs,
    }
}

/// The kept headers with the type of an event instead of that of its batch.
fn as_json(headers: &[u8]) -> Vec<u8> {
    let mut lines = KeptHeaders::from_bytes(headers).0;
    lines.retain(|(name, _)| name != "content-type" && name != "content-encoding");
    lines.insert(0, ("content-type".to_owned(), JSON.to_vec()));
    KeptHeaders(lines).to_bytes()
}

/// The headers that are stored: what describes the body, and the provider's own. Never one that
/// carries a signature, a cookie or an authorization.
pub(super) fn kept(head: &Head<'_>, forwarded: &[&str]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(256);
    for (name, value) in &head.headers {
        if KEPT.contains(name) || forwarded.contains(name) {
            // One that is too long hides those after it: what is kept is a beginning.
            if lines.len() + name.len() + value.len() + 3 > KEPT_BYTES {
                break;
            }
            KeptHeaders::write_line(&mut lines, name, value);
        }
    }
    // Under a name of ours, so that it never travels on.
    if let Some(peer) = head.peer {
        KeptHeaders::write_line(&mut lines, PEER, peer.to_string().as_bytes());
    }
    lines
}

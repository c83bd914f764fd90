//! A lease to try destinations with. Test code only; it never reaches a build.

use crate::delivery::{DeliveryId, KeptHeaders};
use crate::job::{JobId, LaneId, Lease, Parcel};
use std::sync::Arc;

/// The third attempt of a replayed push about `cedar/lantern#41`.
pub fn lease(body: &[u8]) -> Lease {
    let id = DeliveryId(1042);
    let kept = [("content-type", "application/json"), ("x-github-event", "push")];
    let headers = kept.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    let parcel = Parcel {
        id,
        source: "gh".into(),
        key: "7d3c0082".into(),
        kind: "push".into(),
        entity: Some("cedar/lantern#41".into()),
        occurred_us: Some(1_700_000_000_000_000),
        received_us: 1_700_000_001_500_000,
        headers: KeptHeaders(headers.into()),
        body_bytes: body.len() as i64,
        forgotten: false,
        body: Some(body.to_vec().into()),
    };
    Lease {
        job: JobId::new(id, 1),
        route: "build".into(),
        lane: Some(LaneId::new("build", "cedar/lantern#41")),
        attempt: 3,
        tries: 1,
        token: 3,
        since_us: 1_700_000_001_500_000,
        entity: Some("cedar/lantern#41".into()),
        sequence: Some(12),
        position: Some(1_700_000_000_000_000),
        stale: true,
        rank: 1,
        nonce: Some("n0nce".into()),
        claimed_us: 1_700_000_002_000_000,
        delivery: Arc::new(parcel),
    }
}

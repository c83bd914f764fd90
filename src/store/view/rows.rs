//! Rows of the ledger as shapes.

use super::shape::{AttemptView, DeliveryView, JobView, OperationView};
use crate::clock::Time;
use crate::delivery::{DeliveryId, KeptHeaders, PEER};
use crate::job::{JobId, State};
use crate::store::conn::Row;
use crate::store::error::StoreError;
use crate::store::state;

pub(super) fn delivery(row: &Row) -> Result<DeliveryView, StoreError> {
    let (peer, headers): (Vec<_>, Vec<_>) =
        KeptHeaders::from_bytes(&row.blob(15)?).0.into_iter().partition(|(name, _)| name == PEER);
    let text = |value: Vec<u8>| value.escape_ascii().to_string();
    let urgency = row.opt_small(17)?.and_then(|at| usize::try_from(at).ok());
    Ok(DeliveryView {
        id: DeliveryId(row.int(0)?),
        source: row.text(1)?,
        key: row.text(2)?,
        kind: row.text(3)?,
        entity: row.opt_text(4)?,
        state: urgency.and_then(|at| State::URGENCY.get(at)).copied(),
        received_at: Time(row.int(5)?),
        received_from: peer.into_iter().next().map(|(_, value)| text(value)),
        occurred_at: row.opt_int(6)?.map(Time),
        position: row.opt_int(7)?,
        coverage: row.text(8)?,
        secret: row.opt_int(16)?,
        fingerprint: hex::encode(row.blob(9)?),
        repeats: row.int(10)?,
        conflicts: row.int(11)?,
        repeated_at: row.opt_int(12)?.map(Time),
        body_bytes: row.int(13)?,
        body_kept: row.text(14)? != "forgotten",
        headers: headers.into_iter().map(|(name, value)| (name, text(value))).collect(),
    })
}

pub(super) fn job(row: &Row) -> Result<JobView, StoreError> {
    let id = JobId(row.int(0)?);
    Ok(JobView {
        id,
        delivery: id.delivery(),
        source: row.text(1)?,
        key: row.text(2)?,
        kind: row.text(3)?,
        route: row.text(4)?,
        entity: row.opt_text(5)?,
        state: state(&row.text(6)?)?,
        attempts: row.int(7)?,
        sequence: row.opt_int(8)?,
        due_at: row.opt_int(9)?.map(Time),
        lease_until: row.opt_int(10)?.map(Time),
        worker: row.opt_text(11)?,
        created_at: Time(row.int(12)?),
        settled_at: row.opt_int(13)?.map(Time),
        reason: row.opt_text(14)?,
        replays: row.opt_int(15)?.map(JobId),
        halts_lane: row.flag(16)?,
        fault: row.opt_text(17)?,
        position: row.opt_int(18)?,
        stale: row.int(19)? == 1,
        superseded_by: row.opt_int(20)?.map(JobId),
        asked_again_at: row.opt_int(21)?.map(Time),
    })
}

pub(super) fn operation(row: &Row) -> Result<OperationView, StoreError> {
    let (action, subject, detail) = (row.text(1)?, row.text(2)?, row.text(3)?);
    Ok(OperationView { at: Time(row.int(0)?), action, subject, detail })
}

pub(super) fn attempt(row: &Row) -> Result<AttemptView, StoreError> {
    Ok(AttemptView {
        job: JobId(row.int(0)?),
        attempt: row.int(1)?,
        outcome: row.text(2)?,
        status: row.opt_int(3)?,
        started_at: Time(row.int(4)?),
        ended_at: Time(row.int(5)?),
        worker: row.text(6)?,
        detail: row.text(7)?,
        answer: String::from_utf8_lossy(&row.blob(8)?).into_owned(),
    })
}

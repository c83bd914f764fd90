//! Judges refused requests again, once the operator has mended what was wrong.
//!
//! It proves them in the usual way, by the time of their receipt, and records what is proved as any
//! delivery is. Nothing is recorded that is not proved, however much somebody wants it.

use super::admit::is_conflict;
use super::arrival::Proof;
use super::{Head, Intake};
use crate::clock::Time;
use crate::delivery::{DeliveryId, Recorded};
use crate::diagnose::Diagnosis;
use crate::quarantine::{KeptRequest, RefusedRequest};
use crate::store::{QuarantineView, Quarantined, StoreError};
use providers::Admitted;
use serde::Serialize;

/// What judging a refused request again came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It would be recorded.
    Passes,
    /// It is recorded now, and out of the quarantine.
    Recorded,
    /// Proved, and of other content than what is recorded under its key: that one stands.
    Conflict,
    /// Recorded, and still in the quarantine: what it asks to be visited could not be.
    Unconfirmed,
    /// Proved, and there is nothing in it to record.
    Nothing,
    /// Refused as before.
    Refused,
    /// It cannot be judged.
    Unjudged,
}

/// A refused request that was judged again.
#[derive(Clone, Debug, Serialize)]
pub struct Reviewed {
    /// Its number in the quarantine.
    pub id: String,
    /// Its source.
    pub source: String,
    /// When it was received, which is also the time that it is judged by.
    pub received_at: Time,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, where it was not recorded.
    pub detail: String,
    /// The deliveries that it is recorded as.
    pub deliveries: Vec<DeliveryId>,
}

/// Why a refused request cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unopened {
    /// Its source is not configured any more.
    #[error("there is no such source any more")]
    NoSource,
    /// Its head is too long, or was sealed with another key.
    #[error("its headers are not kept, or under another key: ask the process that received it")]
    Sealed,
    /// Its body is too long.
    #[error("its body was too long to be kept")]
    NoBody,
}

impl Intake {
    /// Judges refused requests again, those of `ids` or all of a source (an empty name: of all),
    /// the oldest first. With `promote`, those that are proved now are recorded.
    pub async fn review(
        &self,
        source: &str,
        ids: &[i64],
        promote: bool,
    ) -> Result<Vec<Reviewed>, StoreError> {
        let ids = match ids.is_empty() {
            true => self.store.quarantined_ids(source).await?,
            false => ids.to_vec(),
        };
        let mut all = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(kept) = self.store.quarantined_one(id).await? {
                all.push(self.review_one(id, kept, promote).await?);
            }
        }
        Ok(all)
    }

    async fn review_one(
        &self,
        id: i64,
        kept: Quarantined,
        promote: bool,
    ) -> Result<Reviewed, StoreError> {
        let reviewed = |outcome: Outcome, detail: String| Reviewed {
            id: kept.view.id.clone(),
            source: kept.view.source.clone(),
            received_at: kept.view.received_at,
            outcome,
            detail,
            deliveries: Vec::new(),
        };
        let opened = match self.opened(&kept) {
            Ok(opened) if kept.body.is_some() => opened,
            Ok(_) => return Ok(reviewed(Outcome::Unjudged, Unopened::NoBody.to_string())),
            Err(why) => return Ok(reviewed(Outcome::Unjudged, why.to_string())),
        };
        let received_us = kept.view.received_at.0;
        let Some(entry) = self.sources.get(&kept.view.source) else {
            return Ok(reviewed(Outcome::Unjudged, Unopened::NoSource.to_string()));
        };
        let (head, body) = (opened.head.as_head(), &opened.body);
        let (events, coverage, secret, visit) =
            match self.prove(entry, &head, body, received_us / 1_000_000).await {
                Ok(Admitted::Events { events, coverage, secret, visit }) => {
                    (events, coverage, secret, visit)
                }
                Ok(Admitted::Challenge(_)) => {
                    return Ok(reviewed(Outcome::Nothing, "there is nothing to record".into()));
                }
                Err(unproved) => return Ok(reviewed(Outcome::Refused, unproved.to_string())),
            };
        if !promote {
            return Ok(reviewed(Outcome::Passes, String::new()));
        }
        let secret = (!entry.source.unsigned).then_some(secret);
        let proof = Proof { coverage, secret, received_us };
        let recorded = self.record(entry, &head, body, proof, events).await?;
        let deliveries: Vec<DeliveryId> = recorded.iter().map(|one| one.id).collect();
        if is_conflict(&recorded) {
            let detail = "other content is recorded under its key; the first one stands";
            return Ok(Reviewed { deliveries, ..reviewed(Outcome::Conflict, detail.into()) });
        }
        if let Err(why) = self.visit(entry, visit.as_ref()).await {
            let detail = format!("it is recorded, but not confirmed: {why}; promote it again");
            return Ok(Reviewed { deliveries, ..reviewed(Outcome::Unconfirmed, detail) });
        }
        // Recorded first: promoted twice, it is a duplicate; taken out first, it could be lost.
        self.store.promoted(id, &told(&recorded)).await?;
        Ok(Reviewed { deliveries, ..reviewed(Outcome::Recorded, String::new()) })
    }

    /// The likely cause of a refusal, as things stand now.
    pub fn look_into(&self, kept: &Quarantined) -> Result<Diagnosis, Unopened> {
        Ok(self.quarantine.look_into(&self.opened(kept)?))
    }

    /// A refused request as it was; a body that is not kept stands for a long one.
    fn opened(&self, kept: &Quarantined) -> Result<RefusedRequest, Unopened> {
        let QuarantineView { source, received_at, .. } = &kept.view;
        let entry = self.sources.get(source).ok_or(Unopened::NoSource)?;
        let head = self.quarantine.open(source, received_at.0, &kept.sealed);
        Ok(RefusedRequest {
            source: entry.source.clone(),
            secrets: entry.secrets().to_vec(),
            received_us: received_at.0,
            reason: kept.view.reason.clone(),
            detail: kept.view.detail.clone(),
            head: head.ok_or(Unopened::Sealed)?,
            body: kept.body.clone().unwrap_or_default(),
            body_bytes: usize::try_from(kept.view.body_bytes).unwrap_or(usize::MAX),
        })
    }
}

impl KeptRequest {
    fn as_head(&self) -> Head<'_> {
        let lines = self.headers.0.iter().map(|(name, value)| (&**name, &**value));
        Head { peer: None, method: &self.method, target: &self.target, headers: lines.collect() }
    }
}

/// What an operation says of what was recorded.
fn told(recorded: &[Recorded]) -> String {
    let ids: Vec<String> = recorded.iter().take(10).map(|one| one.id.to_string()).collect();
    let more = if recorded.len() > ids.len() { ", .." } else { "" };
    format!("recorded as {}{more}", ids.join(", "))
}

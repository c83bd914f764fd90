//! The numbers of jobs and lanes.

use crate::delivery::{DeliveryId, NotAnId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The number of a job: its delivery and which of the delivery's jobs it is.
///
/// Both live in one integer (`delivery * 4096 + n`), so that the jobs of a delivery are found by
/// the primary key alone: a second index on the hottest table costs 5 to 10 us a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct JobId(pub i64);

impl JobId {
    /// Jobs that one delivery can have over its life, replays included.
    pub const PER_DELIVERY: i64 = 4096;
    /// The highest delivery number that still fits.
    pub const DELIVERY_MAX: i64 = i64::MAX / Self::PER_DELIVERY - 1;

    /// The `n`-th job of a delivery.
    pub fn new(delivery: DeliveryId, n: i64) -> Self {
        debug_assert!((0..Self::PER_DELIVERY).contains(&n));
        Self(delivery.0 * Self::PER_DELIVERY + n)
    }

    /// The delivery it belongs to.
    pub fn delivery(self) -> DeliveryId {
        DeliveryId(self.0 / Self::PER_DELIVERY)
    }

    /// Which of its delivery's jobs it is.
    pub fn n(self) -> i64 {
        self.0 % Self::PER_DELIVERY
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.delivery(), self.n())
    }
}

impl FromStr for JobId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let parse = || {
            let (delivery, n) = text.split_once('-')?;
            let n = n.parse().ok().filter(|n| (0..Self::PER_DELIVERY).contains(n))?;
            Some(Self::new(delivery.parse().ok()?, n))
        };
        parse().ok_or_else(|| NotAnId(text.into(), "a job id, such as 1042-0"))
    }
}

impl TryFrom<String> for JobId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.to_string()
    }
}

/// A lane's number: the first eight bytes of SHA-256 over route and entity.
///
/// Two entities that collided would merely take turns; order and safety do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub i64);

impl LaneId {
    /// The lane of an entity on a route.
    pub fn new(route: &str, entity: &str) -> Self {
        let digest = Sha256::new().chain_update(route).chain_update([0]).chain_update(entity);
        let digest: [u8; 32] = digest.finalize().into();
        let mut head = [0; 8];
        head.copy_from_slice(&digest[..8]);
        Self(i64::from_be_bytes(head))
    }
}

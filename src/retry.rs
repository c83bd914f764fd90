//! `retry`: dead jobs put back by a filter, at a bounded rate.
//!
//! They yield to live traffic, and each keeps its idempotency key and its history.

use crate::clock::Time;
use crate::job::{Fault, JobId};
use crate::store::{DeadFilter, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which dead jobs to put back, and how fast.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryRequest {
    /// The route's name.
    pub route: String,
    /// The source's name.
    pub source: String,
    /// The kind; a final `*` stands for anything.
    pub kind: String,
    /// Whose fault it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Died at or after, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Died before, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Jobs a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// Only says what would be done.
    pub dry_run: bool,
}

/// What was done, or would be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RetryReport {
    /// Nothing was done, as asked.
    pub dry_run: bool,
    /// Jobs that were put back, by route.
    pub retried: BTreeMap<String, usize>,
    /// Jobs that were left alone: not dead any more, or superseded by now.
    pub left: usize,
    /// When the last one may run.
    pub last_at: Option<Time>,
}

/// Jobs a second unless asked otherwise: a destination that just came back can take that.
pub const RATE_DEFAULT: u32 = 50;

/// Puts back what is asked for, as far as it was dead when this began.
pub async fn retry(store: &Store, request: &RetryRequest) -> Result<RetryReport, StoreError> {
    let begun_us = store.now_us();
    // A job that dies again meanwhile is not put back a second time.
    let until_us = request.until.map_or(begun_us, |time| time.0.min(begun_us));
    let filter = DeadFilter {
        route: request.route.clone(),
        source: request.source.clone(),
        kind: request.kind.clone(),
        fault: request.fault,
        since_us: request.since.map(|time| time.0),
        until_us: Some(until_us),
    };
    let step_us = 1_000_000 / i64::from(request.rate.unwrap_or(RATE_DEFAULT).max(1));
    let mut report = RetryReport { dry_run: request.dry_run, ..RetryReport::default() };
    let (mut after, mut next_us) = (JobId(0), begun_us);
    loop {
        let found = store.dead(&filter, after).await?;
        let Some((last, _)) = found.last() else { return Ok(report) };
        after = *last;
        let ids: Vec<JobId> = found.iter().map(|(id, _)| *id).collect();
        let retried = match request.dry_run {
            true => ids.clone(),
            false => store.retry_all(&ids, next_us, step_us).await?,
        };
        for (_, route) in found.iter().filter(|(id, _)| retried.contains(id)) {
            *report.retried.entry(route.to_string()).or_default() += 1;
        }
        report.left += ids.len() - retried.len();
        next_us += step_us * ids.len() as i64;
        report.last_at = Some(Time(next_us - step_us));
    }
}

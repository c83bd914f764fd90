//! `retain`: lets the ledger forget, a bounded batch at a time.

use crate::config::Config;
use crate::delivery::DeliveryId;
use crate::source::Source;
use crate::store::{Ages, Pruned, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// How long the configured ledger remembers.
pub fn ages(config: &Config) -> Ages {
    let of_source = |source: &Arc<Source>| (source.name.to_string(), source.keep_keys);
    Ages {
        bodies: config.retention.bodies,
        attempts: config.retention.attempts,
        keys: config.sources.values().map(of_source).collect(),
        keys_default: config.retention.keys,
        batch: i64::try_from(config.retention.batch).unwrap_or(i64::MAX),
    }
}

/// Forgets for ever, once an interval.
///
/// A whole walk over what is old starts anew every interval; what could not be forgotten because
/// its work was unfinished is then looked at again.
pub async fn run(store: Store, ages: Ages, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        match once(&store, &ages, false).await {
            Ok(pruned) if pruned != Pruned::default() => {
                tracing::info!(
                    bodies = pruned.bodies,
                    attempts = pruned.attempts,
                    deliveries = pruned.deliveries,
                    lanes = pruned.lanes,
                    "forgot what was old"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "could not forget what is old; trying again"),
        }
    }
}

/// Walks once over everything that is old enough to forget a part of.
pub async fn once(store: &Store, ages: &Ages, dry_run: bool) -> Result<Pruned, StoreError> {
    let mut sum = Pruned::default();
    let mut from = Some(DeliveryId(0));
    while let Some(at) = from {
        let (pruned, next) = store.prune(ages, at, dry_run).await?;
        sum.bodies += pruned.bodies;
        sum.attempts += pruned.attempts;
        sum.deliveries += pruned.deliveries;
        sum.lanes += pruned.lanes;
        from = next;
    }
    Ok(sum)
}

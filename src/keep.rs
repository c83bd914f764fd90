//! Keeps the leases of this process alive, and tells a delivery when its lease is lost.
//!
//! One statement prolongs all leases. It never settles anything.

use crate::job::{JobId, Lease};
use crate::store::Store;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The leases held by this process.
pub struct Keeper {
    lease: Duration,
    held: Mutex<HashMap<(JobId, i64), Held>>,
}

struct Held {
    lost: Arc<Notify>,
    /// The lease certainly holds until here, by this process's own steady clock.
    until: Instant,
}

impl Keeper {
    /// A keeper of leases of this length.
    pub fn new(lease: Duration) -> Self {
        Self { lease, held: Mutex::default() }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<(JobId, i64), Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a lease alive until it is released; the answer is notified when it is lost.
    pub fn hold(&self, lease: &Lease) -> Arc<Notify> {
        let lost = Arc::new(Notify::new());
        let held = Held { lost: lost.clone(), until: Instant::now() + self.lease };
        self.held().insert((lease.job, lease.token), held);
        lost
    }

    /// Stops keeping a lease.
    pub fn release(&self, lease: &Lease) {
        self.held().remove(&(lease.job, lease.token));
    }

    /// Whether nobody else can have taken the lease yet, as far as is known here.
    pub fn may_still_hold(&self, lease: &Lease) -> bool {
        let held = self.held();
        held.get(&(lease.job, lease.token)).is_some_and(|held| Instant::now() < held.until)
    }

    /// Whether somebody in this process is at work under the lease.
    pub fn holds(&self, lease: &Lease) -> bool {
        self.held().contains_key(&(lease.job, lease.token))
    }

    /// Prolongs leases three times in the life of one, until the task is dropped.
    pub async fn run(self: Arc<Self>, store: Store) {
        loop {
            tokio::time::sleep(self.lease / 3).await;
            if let Err(error) = self.once(&store).await {
                tracing::warn!(%error, "could not prolong the leases; trying again");
            }
        }
    }

    /// Prolongs all leases held now.
    pub async fn once(&self, store: &Store) -> Result<(), crate::store::StoreError> {
        let keys: Vec<(JobId, i64)> = self.held().keys().copied().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let asked = Instant::now();
        let still = store.extend(&keys, self.lease).await?;
        let mut held = self.held();
        for key in keys {
            let Some(entry) = held.get_mut(&key) else { continue };
            if still.contains(&key.0) {
                entry.until = asked + self.lease;
            } else {
                entry.lost.notify_one();
            }
        }
        Ok(())
    }
}

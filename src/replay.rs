//! Replays: new jobs for recorded deliveries, by their ids or by a filter.
//!
//! The newest job of each route is replayed, and only once it is finished. A delivery never
//! changes, and the destination gets the same `webhook-id` again, with a fresh `Posthouse-Replay`.

mod shape;

pub use shape::{ReplayFilter, ReplayReport, ReplayRequest, ReplayedJob, Skipped};

use crate::delivery::{DeliveryId, Micros};
use crate::job::JobId;
use crate::retry::RATE_DEFAULT;
use crate::source::Route;
use crate::store::{DeliveryFilter, DeliveryView, JobView, Replayed, Store, StoreError};
use providers::Position;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Neither ids nor a filter, or both.
    #[error("name deliveries or give a filter, one of the two")]
    Ambiguous,
    /// A route that is not configured.
    #[error("there is no route {0:?}")]
    NoRoute(String),
    /// A delivery that is not in the ledger.
    #[error("there is no delivery {0}")]
    NoDelivery(DeliveryId),
    /// The store's own fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Deliveries handled in one transaction.
const BATCH: i64 = 100;

/// Replays what is asked for.
pub async fn replay(
    store: &Store,
    routes: &[Arc<Route>],
    request: &ReplayRequest,
) -> Result<ReplayReport, ReplayError> {
    if request.deliveries.is_empty() == request.filter.is_none() {
        return Err(ReplayError::Ambiguous);
    }
    let named = match &request.route {
        Some(name) => {
            let found = routes.iter().find(|route| *route.name == **name).cloned();
            Some(found.ok_or_else(|| ReplayError::NoRoute(name.clone()))?)
        }
        None => None,
    };
    let rate = request.rate.or(request.filter.as_ref().map(|_| RATE_DEFAULT));
    let step_us = rate.map_or(0, |rate| 1_000_000 / i64::from(rate.max(1)));
    let mut plan = Plan { store, routes, named, request, next_us: store.now_us(), step_us };
    let mut report = ReplayReport { dry_run: request.dry_run, ..ReplayReport::default() };
    // Every id is looked up before anything is done: a typing error replays nothing.
    let mut found = Vec::new();
    for id in &request.deliveries {
        let delivery = store.delivery(*id).await?.ok_or(ReplayError::NoDelivery(*id))?;
        found.push(delivery);
    }
    for chunk in found.chunks(BATCH as usize) {
        plan.batch(chunk, &mut report).await?;
    }
    if let Some(filter) = &request.filter {
        let mut page = wanted(filter, request.route.as_deref());
        loop {
            let found = store.deliveries(&page).await?;
            // Oldest first within the batch: replays then enter their lanes in order.
            let items: Vec<_> = found.items.into_iter().rev().collect();
            plan.batch(&items, &mut report).await?;
            match items.first() {
                Some(oldest) if found.next.is_some() => page.before = Some(oldest.id),
                _ => break,
            }
        }
    }
    Ok(report)
}

fn wanted(filter: &ReplayFilter, route: Option<&str>) -> DeliveryFilter {
    DeliveryFilter {
        source: filter.source.clone(),
        kind: filter.kind.clone(),
        state: filter.state,
        route: filter.state.and(route).unwrap_or("").to_owned(),
        since_us: filter.since.map(|time| time.0),
        until_us: filter.until.map(|time| time.0),
        count: BATCH,
        ..DeliveryFilter::default()
    }
}

struct Plan<'a> {
    store: &'a Store,
    routes: &'a [Arc<Route>],
    named: Option<Arc<Route>>,
    request: &'a ReplayRequest,
    /// When the next job may run, and how much later the one after it.
    next_us: Micros,
    step_us: i64,
}

impl Plan<'_> {
    async fn batch(
        &mut self,
        deliveries: &[DeliveryView],
        report: &mut ReplayReport,
    ) -> Result<(), ReplayError> {
        let mut planned = Vec::new();
        for delivery in deliveries {
            if !delivery.body_kept {
                let reason = "its body is forgotten by retention".into();
                let route = String::new();
                report.skipped.push(Skipped { delivery: delivery.id, route, reason });
                continue;
            }
            for (route, latest) in self.jobs(delivery).await? {
                match &latest {
                    Some(job) if job.state.is_open() => report.skipped.push(Skipped {
                        delivery: delivery.id,
                        route: route.name.to_string(),
                        reason: format!("job {} is {}", job.id, job.state.word()),
                    }),
                    _ => {
                        let body = match route.order_by {
                            Some(_) => self.store.body(delivery.id).await?,
                            None => None,
                        };
                        let latest = latest.map(|job| job.id);
                        let mut made = made(delivery, &route, latest, &body.unwrap_or_default());
                        made.earliest_us = (self.step_us > 0).then_some(self.next_us);
                        self.next_us = self.next_us.saturating_add(self.step_us);
                        planned.push(made);
                    }
                }
            }
        }
        let jobs = match self.request.dry_run {
            true => vec![None; planned.len()],
            false => self.store.replay(&planned).await?,
        };
        for (plan, job) in planned.into_iter().zip(jobs) {
            let (delivery, route) = (plan.delivery, plan.plan.route.to_string());
            if job.is_none() && !self.request.dry_run {
                let reason = "it was replayed meanwhile".into();
                report.skipped.push(Skipped { delivery, route, reason });
            } else {
                let replays = plan.replays;
                report.replayed.push(ReplayedJob { delivery, route, replays, job });
            }
        }
        Ok(())
    }

    /// The newest job of each route of a delivery that is asked for. A named route that has no
    /// job yet stands with none.
    async fn jobs(
        &self,
        delivery: &DeliveryView,
    ) -> Result<Vec<(Arc<Route>, Option<JobView>)>, StoreError> {
        let mut latest: BTreeMap<String, JobView> = BTreeMap::new();
        for job in self.store.jobs_of(delivery.id).await? {
            latest.insert(job.route.clone(), job);
        }
        let state = self.request.filter.as_ref().and_then(|filter| filter.state);
        let fits = |job: &JobView| state.is_none_or(|state| job.state == state);
        if let Some(route) = &self.named {
            let job = latest.remove(&*route.name);
            let wanted = job.as_ref().map_or(state.is_none(), fits);
            return Ok(wanted.then(|| (route.clone(), job)).into_iter().collect());
        }
        let of_route = |job: JobView| {
            let route = self.routes.iter().find(|route| *route.name == *job.route)?;
            Some((route.clone(), Some(job)))
        };
        Ok(latest.into_values().filter(|job| fits(job)).filter_map(of_route).collect())
    }
}

fn made(
    delivery: &DeliveryView,
    route: &Arc<Route>,
    replays: Option<JobId>,
    body: &[u8],
) -> Replayed {
    let kept = delivery.headers.iter().find(|(name, _)| name == "content-type");
    let content_type = kept.map(|(_, value)| value.as_bytes());
    Replayed {
        delivery: delivery.id,
        position: Position {
            occurred_at_us: delivery.occurred_at.map(|time| time.0),
            sequence: delivery.position,
        },
        plan: route.plan(delivery.entity.as_deref(), content_type, body),
        earliest_us: None,
        replays,
        nonce: hex::encode(rand::random::<[u8; 16]>()),
    }
}

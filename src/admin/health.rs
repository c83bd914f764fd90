//! Whether the process lives and can work, and what it counts. Without a token, so nothing here
//! tells a name from the configuration, except in metrics labels, or the text of an error.
//!
//! The store is asked once a second at most, whatever the number of requests.

use super::Admin;
use crate::job::State;
use crate::store::{Cause, StoreError};
use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpResponse, Responder};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long an answer of the store stays good.
const FRESH: Duration = Duration::from_secs(1);

/// How long the store may take to prove that it can be written to.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// A value that is made anew when it is older than a second, by one caller while others wait.
pub(super) struct Recent<T>(Mutex<Option<(Instant, T)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Recent<T> {
    async fn get(&self, make: impl Future<Output = T>) -> T {
        let mut slot = self.0.lock().await;
        if let Some((made, value)) = &*slot
            && made.elapsed() < FRESH
        {
            return value.clone();
        }
        let value = make.await;
        *slot = Some((Instant::now(), value.clone()));
        value
    }
}

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> impl Responder {
    "ok"
}

/// `GET /readyz`: the store can be written to and the workers look for jobs.
pub(super) async fn ready(admin: Data<Admin>) -> HttpResponse {
    let store = admin.probed.get(admin.probe()).await;
    let stale = admin.workers.as_ref().map(|workers| workers.stale_for(admin.clock.now_us()));
    let workers = match stale {
        None => "not in this process".to_owned(),
        Some(None) => "ok".to_owned(),
        Some(Some(age)) => format!("have not looked for jobs for {} s", age.as_secs()),
    };
    let is_ready = store.is_ok() && !matches!(stale, Some(Some(_)));
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = json!({ "store": store.err().unwrap_or("ok"), "workers": workers });
    HttpResponse::build(status).json(json!({ "ready": is_ready, "checks": checks }))
}

/// `GET /metrics`: the text format of Prometheus.
pub(super) async fn metrics(admin: Data<Admin>) -> HttpResponse {
    admin.gauged.get(admin.gauge()).await;
    match admin.metrics.text() {
        Ok(text) => {
            HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
        }
        Err(error) => {
            tracing::error!(%error, "the metrics cannot be written as text");
            HttpResponse::InternalServerError().finish()
        }
    }
}

impl Admin {
    async fn probe(&self) -> Result<(), &'static str> {
        match timeout(PROBE_TIMEOUT, self.store.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready: the store cannot be written to");
                Err("cannot be written to")
            }
            Err(_) => {
                tracing::warn!("not ready: the store does not answer");
                Err("does not answer within 2 s")
            }
        }
    }

    /// Sets the gauges. A store that does not answer leaves the last values: the counters are
    /// worth reading just then, and `/readyz` says what is wrong.
    async fn gauge(&self) {
        match timeout(PROBE_TIMEOUT, self.read_gauges()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the gauges could not be read"),
            Err(_) => tracing::warn!("the gauges could not be read within 2 s"),
        }
    }

    async fn read_gauges(&self) -> Result<(), StoreError> {
        let backlog = self.store.backlog().await?;
        let paused = self.store.pauses().await?;
        let circuits = self.store.circuits().await?;
        for (name, _) in self.destinations.iter().filter(|(_, to)| to.circuit.is_some()) {
            let is_open = circuits.iter().any(|row| *row.destination == **name);
            self.metrics.circuit_open.with_label_values(&[&**name]).set(is_open.into());
        }
        let counted = |state: &State| !matches!(state, State::Succeeded | State::Cancelled);
        for state in State::ALL.into_iter().filter(counted) {
            let of_state = backlog.jobs.iter().filter(|(counted, _)| *counted == state);
            let count = of_state.map(|(_, count)| count).sum();
            self.metrics.jobs.with_label_values(&[state.word()]).set(count);
        }
        let age_us = backlog.oldest_due_us.map_or(0, |due_us| self.clock.now_us() - due_us);
        self.metrics.oldest_ready_seconds.set(age_us / 1_000_000);
        self.metrics.halted_lanes.set(backlog.halted_lanes);
        let paused = paused.iter().filter(|pause| pause.scope == "route").count();
        self.metrics.paused_routes.set(i64::try_from(paused).unwrap_or(i64::MAX));
        let alarms = self.store.alarms().await?;
        for cause in Cause::ALL {
            let standing =
                alarms.iter().filter(|alarm| alarm.cause == cause && alarm.cleared_us.is_none());
            let count = i64::try_from(standing.count()).unwrap_or(i64::MAX);
            self.metrics.alarms.with_label_values(&[cause.word()]).set(count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn a_value_is_made_once_for_all_who_ask_within_a_second() {
        let (made, recent) = (AtomicU32::new(0), Recent::<u32>::default());
        let make = || async {
            tokio::task::yield_now().await;
            made.fetch_add(1, Ordering::Relaxed)
        };
        let asked = futures_util::future::join_all((0..20).map(|_| recent.get(make()))).await;
        assert_eq!(asked, vec![0; 20]);
        let old = Instant::now().checked_sub(FRESH).unwrap();
        *recent.0.lock().await = Some((old, 7));
        assert_eq!(recent.get(make()).await, 1);
    }
}

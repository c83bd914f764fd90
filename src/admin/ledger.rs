//! What the ledger shows: deliveries, their bodies, jobs and attempts, and why a job waits.

use super::Admin;
use super::answer::Fault;
use super::query::{limit, optional, query};
use crate::clock::Time;
use crate::delivery::DeliveryId;
use crate::job::{JobId, State};
use crate::store::{
    AttemptView, CircuitView, DeliveryFilter, JobFilter, JobView, OperationView, PauseView,
    StoreError,
};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeliveryQuery {
    source: String,
    kind: String,
    key: String,
    state: String,
    route: String,
    since: String,
    until: String,
    before: String,
    limit: String,
}

/// `GET /api/deliveries`
pub(super) async fn deliveries(
    request: HttpRequest,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let asked: DeliveryQuery = query(&request)?;
    let filter = DeliveryFilter {
        since_us: optional::<Time>("since", &asked.since)?.map(|time| time.0),
        until_us: optional::<Time>("until", &asked.until)?.map(|time| time.0),
        state: optional("state", &asked.state)?,
        before: optional("before", &asked.before)?,
        count: limit(&asked.limit)?,
        source: asked.source,
        kind: asked.kind,
        key: asked.key,
        route: asked.route,
    };
    Ok(HttpResponse::Ok().json(admin.store.deliveries(&filter).await?))
}

/// `GET /api/deliveries/{id}`
pub(super) async fn delivery(
    request: HttpRequest,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let id: DeliveryId = request.match_info().query("id").parse()?;
    let Some(delivery) = admin.store.delivery(id).await? else {
        return Err(Fault::NotFound(format!("there is no delivery {id}")));
    };
    let (jobs, attempts) = (admin.store.jobs_of(id).await?, admin.store.attempts_of(id).await?);
    let jobs = admin.explained(jobs, attempts).await?;
    let operations: Vec<OperationView> = admin.store.operations_on(id).await?;
    let receipts = admin.store.receipts_of(id).await?;
    let all = json!({ "delivery": delivery, "receipts": receipts, "jobs": jobs,
        "operations": operations });
    Ok(HttpResponse::Ok().json(all))
}

/// `GET /api/deliveries/{id}/body`: as received, byte for byte, and never for a browser to show.
pub(super) async fn body(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let id: DeliveryId = request.match_info().query("id").parse()?;
    let Some(body) = admin.store.body(id).await? else {
        return Err(match admin.store.delivery(id).await? {
            Some(_) => Fault::Gone(format!("the body of delivery {id} is forgotten by retention")),
            None => Fault::NotFound(format!("there is no delivery {id}")),
        });
    };
    let name = format!("attachment; filename=\"delivery-{id}.bin\"");
    let mut answer = HttpResponse::Ok();
    answer.insert_header(("Content-Disposition", name));
    Ok(answer.content_type("application/octet-stream").body(body))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct JobQuery {
    state: String,
    route: String,
    fault: String,
    before: String,
    limit: String,
}

/// `GET /api/jobs`
pub(super) async fn jobs(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: JobQuery = query(&request)?;
    let filter = JobFilter {
        state: optional("state", &asked.state)?,
        fault: optional("fault", &asked.fault)?,
        before: optional("before", &asked.before)?,
        count: limit(&asked.limit)?,
        route: asked.route,
    };
    Ok(HttpResponse::Ok().json(admin.store.jobs(&filter).await?))
}

/// `GET /api/jobs/{id}`
pub(super) async fn job(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let id: JobId = request.match_info().query("id").parse()?;
    let Some(job) = admin.store.job(id).await? else {
        return Err(Fault::NotFound(format!("there is no job {id}")));
    };
    let attempts = admin.store.attempts_of(id.delivery()).await?;
    let explained = admin.explained(vec![job], attempts).await?;
    Ok(HttpResponse::Ok().json(explained.first()))
}

/// A job with what was tried and what it waits for.
#[derive(Serialize)]
struct Explained {
    #[serde(flatten)]
    job: JobView,
    /// The job of its lane that has to end first.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<Ahead>,
    /// Its route, its destination or its lane takes no jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<PauseView>,
    /// Its destination fails, and is left alone until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    circuit: Option<CircuitView>,
    attempts: Vec<AttemptView>,
}

/// The head of a lane, as far as those behind it need to know.
#[derive(Serialize)]
struct Ahead {
    job: JobId,
    state: State,
    reason: Option<String>,
}

impl Admin {
    async fn explained(
        &self,
        jobs: Vec<JobView>,
        attempts: Vec<AttemptView>,
    ) -> Result<Vec<Explained>, StoreError> {
        let (pauses, circuits) = (self.store.pauses().await?, self.store.circuits().await?);
        let mut all = Vec::with_capacity(jobs.len());
        for job in jobs {
            let behind = match job.state {
                State::Waiting => self.ahead_of(job.id).await?,
                _ => None,
            };
            let paused = pauses.iter().find(|pause| self.stops(pause, &job));
            let paused = paused.filter(|_| job.state.is_open()).cloned();
            // What runs is on its way already, and what waits in its lane waits for that first.
            let may_run = matches!(job.state, State::Ready | State::Retrying);
            let circuit = self.circuit_of(&job.route, &circuits).filter(|_| may_run).cloned();
            let of_job = attempts.iter().filter(|attempt| attempt.job == job.id);
            let attempts = of_job.cloned().collect();
            all.push(Explained { behind, paused, circuit, attempts, job });
        }
        Ok(all)
    }

    /// Whether a pause is why a job does not run.
    fn stops(&self, pause: &PauseView, job: &JobView) -> bool {
        let route = self.routes.iter().find(|route| *route.name == *job.route);
        match (pause.scope.as_str(), pause.name.as_str()) {
            ("route", name) => name == job.route,
            ("destination", name) => route.is_some_and(|route| *route.destination == *name),
            ("lane", name) => name.split_once('/').is_some_and(|(route, entity)| {
                route == job.route && Some(entity) == job.entity.as_deref()
            }),
            _ => false,
        }
    }

    async fn ahead_of(&self, job: JobId) -> Result<Option<Ahead>, StoreError> {
        let Some(ahead) = self.store.ahead_of(job).await? else { return Ok(None) };
        let ahead = self.store.job(ahead).await?;
        Ok(ahead.map(|ahead| Ahead { job: ahead.id, state: ahead.state, reason: ahead.reason }))
    }
}

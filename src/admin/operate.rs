//! What operators do. The store writes each down as an operation in the same transaction.

use super::Admin;
use super::answer::Fault;
use super::query::json;
use crate::job::JobId;
use crate::replay::{ReplayRequest, replay};
use crate::retain;
use crate::retry::{RetryRequest, retry as retry_all};
use crate::source::OnDead;
use crate::store::{Called, Resolution, StoreError};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;

/// `POST /api/jobs/{id}/retry`
pub(super) async fn retry(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let id: JobId = request.match_info().query("id").parse()?;
    let called = admin.store.retry(id).await?;
    admin.called(id, called, "retried").await
}

/// `POST /api/jobs/{id}/cancel`
pub(super) async fn cancel(
    request: HttpRequest,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let id: JobId = request.match_info().query("id").parse()?;
    let called = admin.store.cancel(id).await?;
    admin.called(id, called, "cancelled").await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResolveRequest {
    resolution: Resolution,
}

/// `POST /api/jobs/{id}/resolve`
pub(super) async fn resolve(
    request: HttpRequest,
    body: Payload,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let id: JobId = request.match_info().query("id").parse()?;
    let ResolveRequest { resolution } = json(body).await?;
    let Some(job) = admin.store.job(id).await? else {
        return Err(Fault::NotFound(format!("there is no job {id}")));
    };
    let route = admin.routes.iter().find(|route| *route.name == *job.route);
    let halt_lane = route.is_some_and(|route| route.on_dead == OnDead::Halt);
    let called = admin.store.resolve(id, resolution, halt_lane, "operator").await?;
    admin.called(id, called, "resolved").await
}

impl Admin {
    async fn called(
        &self,
        id: JobId,
        called: Called,
        what: &'static str,
    ) -> Result<HttpResponse, Fault> {
        match called {
            Called::Done => {
                let state = self.store.job(id).await?.map(|job| job.state);
                Ok(HttpResponse::Ok().json(json!({ "job": id, "state": state })))
            }
            Called::NotFound => Err(Fault::NotFound(format!("there is no job {id}"))),
            Called::NotAllowed(state) => Err(Fault::NotAllowed { state, what }),
        }
    }
}

/// Runs to its end even when the caller goes away: half of a replay would be told to nobody.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Fault> {
    let broken = |error| Fault::Store(StoreError::Unavailable(format!("broken off: {error}")));
    tokio::spawn(work).await.map_err(broken)
}

/// `POST /api/replays`
pub(super) async fn replays(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: ReplayRequest = json(body).await?;
    let admin = admin.into_inner();
    let done = to_the_end(async move { replay(&admin.store, &admin.routes, &asked).await }).await?;
    Ok(HttpResponse::Ok().json(done?))
}

/// `POST /api/retries`
pub(super) async fn retries(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: RetryRequest = json(body).await?;
    if asked.rate == Some(0) {
        return Err(Fault::BadRequest("rate: at least 1 a second".into()));
    }
    if !asked.route.is_empty() && !admin.routes.iter().any(|route| *route.name == asked.route) {
        return Err(Fault::NotFound(format!("there is no route {:?}", asked.route)));
    }
    let admin = admin.into_inner();
    let done = to_the_end(async move { retry_all(&admin.store, &asked).await }).await?;
    Ok(HttpResponse::Ok().json(done?))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PruneRequest {
    dry_run: bool,
}

/// `POST /api/prune`
pub(super) async fn prune(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let PruneRequest { dry_run } = json(body).await?;
    let admin = admin.into_inner();
    let pruned =
        to_the_end(async move { retain::once(&admin.store, &admin.ages, dry_run).await }).await??;
    Ok(HttpResponse::Ok().json(json!({ "dry_run": dry_run, "pruned": pruned })))
}

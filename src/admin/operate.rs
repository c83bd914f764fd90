//! What operators do. The store writes each down as an operation in the same transaction.

use super::Admin;
use super::answer::Fault;
use super::query::json;
use crate::job::JobId;
use crate::replay::{ReplayRequest, replay};
use crate::retain;
use crate::store::{Called, StoreError};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Characters of the reason for a pause: a line in a table.
const REASON_CHARS_MAX: usize = 300;

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
async fn to_the_end<T: Send + 'static>(
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

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PauseRequest {
    reason: String,
}

/// `POST /api/routes/{name}/pause`
pub(super) async fn pause(
    request: HttpRequest,
    body: Payload,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let PauseRequest { reason } = json(body).await?;
    let name = request.match_info().query("name");
    if !admin.routes.iter().any(|route| *route.name == *name) {
        return Err(Fault::NotFound(format!("there is no route {name:?}")));
    }
    if reason.chars().count() > REASON_CHARS_MAX {
        let text = format!("reason: at most {REASON_CHARS_MAX} characters");
        return Err(Fault::BadRequest(text));
    }
    let reason = if reason.is_empty() { "paused by an operator" } else { &reason };
    admin.store.pause(name, reason).await?;
    Ok(HttpResponse::Ok().json(json!({ "route": name, "paused": true })))
}

/// `POST /api/routes/{name}/resume`. A route that is not configured any more may still be paused.
pub(super) async fn resume(
    request: HttpRequest,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let name: Arc<str> = request.match_info().query("name").into();
    let is_configured = admin.routes.iter().any(|route| route.name == name);
    if !is_configured && !admin.store.pauses().await?.iter().any(|pause| *pause.route == *name) {
        return Err(Fault::NotFound(format!("there is no route {name:?}")));
    }
    let was_paused = admin.store.resume(name.clone()).await?;
    let told = json!({ "route": &*name, "paused": false, "was_paused": was_paused });
    Ok(HttpResponse::Ok().json(told))
}

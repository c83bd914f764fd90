//! Refused requests: what they were, why, and whether they would be taken now.
//!
//! What was signed with them is never shown: neither a signature nor the query of a URL.

use super::Admin;
use super::answer::Fault;
use super::operate::to_the_end;
use super::query::{json, limit, optional, query};
use crate::store::{Page, QuarantineView, Quarantined, StoreError};
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Requests that are named in one call.
const IDS_MAX: usize = 1000;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    source: String,
    before: String,
    limit: String,
}

/// `GET /api/quarantine`
pub(super) async fn list(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let asked: ListQuery = query(&request)?;
    let (before, count) = (optional("before", &asked.before)?, limit(&asked.limit)?);
    let mut items = admin.store.quarantined(&asked.source, before, count + 1).await?;
    let more = items.len() as i64 > count;
    items.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    let next = items.last().filter(|_| more).map(|last| last.id.clone());
    Ok(HttpResponse::Ok().json(Page { items, next }))
}

/// A refused request, and what is to be said of it as things stand now.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    view: QuarantineView,
    cause_now: Option<&'static str>,
    likely_now: String,
}

/// `GET /api/quarantine/{id}`
pub(super) async fn show(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let kept = admin.kept(&request).await?;
    let (view, intake) = (kept.view.clone(), admin.intake.clone());
    // Hashing a body in a dozen forms is no work for a thread that serves.
    let looking = tokio::task::spawn_blocking(move || intake.look_into(&kept)).await;
    let looked = looking.map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let (cause_now, likely_now) = match looked {
        Ok(found) => (Some(found.cause.word()), found.text),
        Err(why) => (None, why.to_string()),
    };
    Ok(HttpResponse::Ok().json(Shown { view, cause_now, likely_now }))
}

/// `GET /api/quarantine/{id}/body`
pub(super) async fn body(request: HttpRequest, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let kept = admin.kept(&request).await?;
    let gone = || Fault::Gone("its body was too long to be kept".into());
    let body = kept.body.ok_or_else(gone)?;
    Ok(HttpResponse::Ok().content_type("application/octet-stream").body(body))
}

/// Which refused requests are meant: those named, or all of a source, or all.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    source: String,
    ids: Vec<String>,
}

/// `POST /api/quarantine/recheck`
pub(super) async fn recheck(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    review(body, admin, false).await
}

/// `POST /api/quarantine/promote`
pub(super) async fn promote(body: Payload, admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    review(body, admin, true).await
}

async fn review(body: Payload, admin: Data<Admin>, promote: bool) -> Result<HttpResponse, Fault> {
    let Asked { source, ids } = json(body).await?;
    if ids.len() > IDS_MAX {
        return Err(Fault::BadRequest(format!("ids: at most {IDS_MAX}")));
    }
    if !source.is_empty() && !admin.sources.iter().any(|known| *known.name == *source) {
        return Err(Fault::NotFound(format!("there is no source {source:?}")));
    }
    let ids: Vec<i64> = ids.iter().map(|id| number(id)).collect::<Result<_, _>>()?;
    for id in &ids {
        if admin.store.quarantined_one(*id).await?.is_none() {
            return Err(none(*id));
        }
    }
    let admin = admin.into_inner();
    let reviewing = async move { admin.intake.review(&source, &ids, promote).await };
    let items = to_the_end(reviewing).await??;
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

fn number(text: &str) -> Result<i64, Fault> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Fault::BadRequest(format!("{text:?} is no id of a refused request")))
}

fn none(id: i64) -> Fault {
    Fault::NotFound(format!("there is no refused request {id}: promoted, too old, or one too many"))
}

impl Admin {
    async fn kept(&self, request: &HttpRequest) -> Result<Quarantined, Fault> {
        let id = number(request.match_info().query("id"))?;
        self.store.quarantined_one(id).await?.ok_or_else(|| none(id))
    }
}

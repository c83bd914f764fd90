//! What is set up, what was refused and what was done: sources, routes, rejections, operations.
//! Never a secret, only how many there are.

use super::Admin;
use super::answer::Fault;
use super::query::{limit, query};
use crate::delivery::coverage_word;
use crate::source::{OnDead, Order, Source};
use crate::store::PauseView;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use providers::Coverage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A route, and whether it is paused.
#[derive(Serialize)]
struct RouteView {
    name: String,
    source: String,
    destination: String,
    events: Vec<String>,
    order: Order,
    order_by: Option<String>,
    hold_ms: u64,
    on_dead: OnDead,
    on_uncertain: OnDead,
    paused: Option<PauseView>,
}

/// `GET /api/routes`
pub(super) async fn routes(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let pauses = admin.store.pauses().await?;
    let mut items = Vec::with_capacity(admin.routes.len());
    for route in &admin.routes {
        let paused = pauses.iter().find(|pause| {
            let (scope, name) = (pause.scope.as_str(), pause.name.as_str());
            (scope == "route" && *route.name == *name)
                || (scope == "destination" && *route.destination == *name)
        });
        items.push(RouteView {
            name: route.name.to_string(),
            source: route.source.to_string(),
            destination: route.destination.to_string(),
            events: route.events.clone(),
            order: route.order,
            order_by: route.order_by.as_ref().map(|template| template.text().to_owned()),
            hold_ms: u64::try_from(route.hold.as_millis()).unwrap_or(u64::MAX),
            on_dead: route.on_dead,
            on_uncertain: route.on_uncertain,
            paused: paused.cloned(),
        });
    }
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

/// `GET /api/sources`
pub(super) async fn sources(admin: Data<Admin>) -> HttpResponse {
    let items: Vec<Value> = admin.sources.iter().map(|source| shown(source)).collect();
    HttpResponse::Ok().json(json!({ "items": items }))
}

fn shown(source: &Source) -> Value {
    let coverage = match source.unsigned {
        true => Coverage::Nothing,
        false => source.provider.coverage(),
    };
    json!({
        "name": &*source.name,
        "provider": source.provider.name(),
        "path": format!("/hooks/{}", source.name),
        "public_url": source.public_url,
        "coverage": coverage_word(coverage),
        "secrets": source.secrets.len(),
        "unsigned": source.unsigned,
        "pending": source.pending,
        "disabled": source.disabled,
        "body_bytes_max": source.body_bytes_max,
        "rate_per_s": source.rate_per_s,
    })
}

/// `GET /api/rejections`
pub(super) async fn rejections(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let items = admin.store.rejections().await?;
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OperationQuery {
    limit: String,
}

/// `GET /api/operations`
pub(super) async fn operations(
    request: HttpRequest,
    admin: Data<Admin>,
) -> Result<HttpResponse, Fault> {
    let asked: OperationQuery = query(&request)?;
    let items = admin.store.operations(limit(&asked.limit)?).await?;
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

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
    /// A route that is only in the ledger is not configured any more.
    configured: bool,
    source: Option<String>,
    destination: Option<String>,
    events: Vec<String>,
    order: Option<Order>,
    on_dead: Option<OnDead>,
    paused: Option<PauseView>,
}

/// `GET /api/routes`
pub(super) async fn routes(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let mut pauses = admin.store.pauses().await?;
    let mut items = Vec::with_capacity(admin.routes.len());
    for route in &admin.routes {
        let at = pauses.iter().position(|pause| *pause.route == *route.name);
        items.push(RouteView {
            name: route.name.to_string(),
            configured: true,
            source: Some(route.source.to_string()),
            destination: Some(route.destination.to_string()),
            events: route.events.clone(),
            order: Some(route.order),
            on_dead: Some(route.on_dead),
            paused: at.map(|at| pauses.remove(at)),
        });
    }
    items.extend(pauses.into_iter().map(|pause| RouteView {
        name: pause.route.clone(),
        configured: false,
        source: None,
        destination: None,
        events: Vec::new(),
        order: None,
        on_dead: None,
        paused: Some(pause),
    }));
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

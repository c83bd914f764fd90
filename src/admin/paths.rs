//! What is asked for at which path, and by which methods. It answers nothing itself but that a path
//! or a method is not there.

use super::answer::{Fault, refusal};
use super::{alarms, destinations, health, ledger, operate, quarantine, setup, stop};
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, ServiceConfig};
use actix_web::{FromRequest, Handler, HttpResponse, Resource, Responder, guard};

pub(super) fn open_paths(paths: &mut ServiceConfig) {
    paths
        .service(get("/healthz", health::alive))
        .service(get("/readyz", health::ready))
        .service(get("/metrics", health::metrics));
}

pub(super) fn api_paths(paths: &mut ServiceConfig) {
    paths
        .service(get("/deliveries", ledger::deliveries))
        .service(get("/deliveries/{id}", ledger::delivery))
        .service(get("/deliveries/{id}/body", ledger::body))
        .service(get("/jobs", ledger::jobs))
        .service(get("/jobs/{id}", ledger::job))
        .service(post("/jobs/{id}/retry", operate::retry))
        .service(post("/jobs/{id}/cancel", operate::cancel))
        .service(post("/jobs/{id}/resolve", operate::resolve))
        .service(post("/replays", operate::replays))
        .service(post("/retries", operate::retries))
        .service(post("/prune", operate::prune))
        .service(get("/destinations", destinations::list))
        .service(get("/routes", setup::routes))
        .service(both("/pauses", stop::pauses, stop::pause))
        .service(post("/pauses/resume", stop::resume))
        .service(get("/alarms", alarms::alarms))
        .service(get("/sources", setup::sources))
        .service(get("/rejections", setup::rejections))
        .service(get("/quarantine", quarantine::list))
        .service(post("/quarantine/recheck", quarantine::recheck))
        .service(post("/quarantine/promote", quarantine::promote))
        .service(get("/quarantine/{id}", quarantine::show))
        .service(get("/quarantine/{id}/body", quarantine::body))
        .service(get("/operations", setup::operations))
        .default_service(web::to(no_such_path));
}

fn get<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let reads = guard::Any(guard::Get()).or(guard::Head());
    web::resource(path)
        .route(web::route().guard(reads).to(handler))
        .default_service(web::to(|| async { wrong_method("GET, HEAD") }))
}

fn both<F, Args, G, More>(path: &str, reading: F, posting: G) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
    G: Handler<More>,
    More: FromRequest + 'static,
    G::Output: Responder + 'static,
{
    let reads = guard::Any(guard::Get()).or(guard::Head());
    web::resource(path)
        .route(web::route().guard(reads).to(reading))
        .route(web::method(Method::POST).to(posting))
        .default_service(web::to(|| async { wrong_method("GET, HEAD, POST") }))
}

fn post<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    web::resource(path)
        .route(web::method(Method::POST).to(handler))
        .default_service(web::to(|| async { wrong_method("POST") }))
}

fn wrong_method(allowed: &'static str) -> HttpResponse {
    let text = format!("this path answers to {allowed} only");
    let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, &text);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

pub(super) async fn no_such_path() -> Result<&'static str, Fault> {
    Err(Fault::NotFound("there is no such path".into()))
}

//! The admin API: what operators see and do, on a listener of its own.
//!
//! Everything under `/api` needs the bearer token; health and metrics tell no secrets and need
//! none. No forwarded header is ever believed, and no answer may be kept, framed or run by a
//! browser. It decides nothing: it asks the ledger and says what the ledger says.

mod alarms;
mod answer;
mod destinations;
mod health;
mod ledger;
mod operate;
mod quarantine;
mod query;
mod setup;
mod stop;
mod token;

use crate::clock::Clock;
use crate::config::Config;
use crate::delivery::Micros;
use crate::http::Running;
use crate::receive::Intake;
use crate::retain;
use crate::source::{Destination, Route, Source};
use crate::store::{Ages, Store};
use crate::telemetry::Metrics;
use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, FromRequest, Handler, HttpServer, Resource, Responder, guard};
use answer::{Fault, refusal};
use health::Recent;
use providers::Secret;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use token::Token;

/// Everything that the admin API needs.
pub struct Admin {
    store: Store,
    intake: Arc<Intake>,
    clock: Clock,
    metrics: Arc<Metrics>,
    token: Token,
    sources: Vec<Arc<Source>>,
    routes: Vec<Arc<Route>>,
    destinations: BTreeMap<Arc<str>, Destination>,
    ages: Ages,
    workers: Option<Liveness>,
    probed: Recent<Result<(), &'static str>>,
    gauged: Recent<()>,
}

impl Admin {
    /// An admin API over the intake's store. `workers` is absent in a process that only receives.
    pub fn new(
        config: &Config,
        intake: Arc<Intake>,
        clock: Clock,
        metrics: Arc<Metrics>,
        token: Secret,
        workers: Option<Liveness>,
    ) -> Self {
        Self {
            store: intake.store.clone(),
            intake,
            clock,
            metrics,
            token: Token::new(&token),
            sources: config.sources.values().cloned().collect(),
            routes: config.routes.clone(),
            destinations: config.destinations.clone(),
            ages: retain::ages(config),
            workers,
            probed: Recent::default(),
            gauged: Recent::default(),
        }
    }
}

/// Tells whether the workers of this process still look for jobs.
pub struct Liveness {
    alive_us: Arc<AtomicI64>,
    stale: Duration,
}

/// A claimer that is merely slow must not look dead: three polls, and never less than this.
const STALE_MIN: Duration = Duration::from_secs(10);

impl Liveness {
    /// `alive_us` is when the claimer's last look succeeded, in ledger time; `poll` is how often
    /// it looks at least.
    pub fn new(alive_us: Arc<AtomicI64>, poll: Duration) -> Self {
        Self { alive_us, stale: (poll * 3).max(STALE_MIN) }
    }

    /// The age of the last look, if that is too old.
    fn stale_for(&self, now_us: Micros) -> Option<Duration> {
        let age_us = now_us.saturating_sub(self.alive_us.load(Ordering::Relaxed));
        let age = Duration::from_micros(u64::try_from(age_us).unwrap_or(0));
        (age > self.stale).then_some(age)
    }
}

/// Threads that serve the API. Two, so that one large body does not hold up a health check.
const THREADS: usize = 2;

/// Connections at once, for each thread. Operators and probes are few; a flood finds a wall.
const CONNECTIONS: usize = 256;

/// Time for the head of a request to arrive.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Seconds for answers under way when the listener stops.
const SHUTDOWN_S: u64 = 5;

/// Starts the admin listener. Signals are the caller's to handle.
pub fn serve(listener: TcpListener, admin: Arc<Admin>) -> io::Result<Running> {
    let admin = Data::from(admin);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(admin.clone())
            .wrap(strict_headers())
            .configure(open_paths)
            .service(web::scope("/api").wrap(from_fn(token::guard)).configure(api_paths))
            .default_service(web::to(no_such_path))
    })
    .workers(THREADS)
    .max_connections(CONNECTIONS)
    .client_request_timeout(HEADER_TIMEOUT)
    .shutdown_timeout(SHUTDOWN_S)
    .disable_signals()
    .listen(listener)?;
    Ok(Running::start(server.run()))
}

/// On every answer: nothing may be run, guessed at, framed or kept.
fn strict_headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add(("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"))
        .add(("X-Content-Type-Options", "nosniff"))
        .add(("Cache-Control", "no-store"))
        .add(("Referrer-Policy", "no-referrer"))
}

fn open_paths(paths: &mut ServiceConfig) {
    paths
        .service(get("/healthz", health::alive))
        .service(get("/readyz", health::ready))
        .service(get("/metrics", health::metrics));
}

fn api_paths(paths: &mut ServiceConfig) {
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

fn wrong_method(allowed: &'static str) -> actix_web::HttpResponse {
    let text = format!("this path answers to {allowed} only");
    let mut answer = refusal(actix_web::http::StatusCode::METHOD_NOT_ALLOWED, &text);
    answer.headers_mut().insert(ALLOW, actix_web::http::header::HeaderValue::from_static(allowed));
    answer
}

async fn no_such_path() -> Result<&'static str, Fault> {
    Err(Fault::NotFound("there is no such path".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_stale_after_three_polls_but_not_before_ten_seconds() {
        let alive_us = Arc::new(AtomicI64::new(1_000_000));
        let quick = Liveness::new(alive_us.clone(), Duration::from_millis(10));
        assert_eq!(quick.stale_for(11_000_000), None);
        assert_eq!(quick.stale_for(11_000_001), Some(Duration::from_micros(10_000_001)));
        let slow = Liveness::new(alive_us, Duration::from_secs(20));
        assert_eq!(slow.stale_for(61_000_000), None);
        assert!(slow.stale_for(62_000_000).is_some());
        assert_eq!(slow.stale_for(0), None, "a clock that is behind proves nothing");
    }
}

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
mod liveness;
mod operate;
mod paths;
mod quarantine;
mod query;
mod setup;
mod stop;
mod token;

pub use liveness::Liveness;

use crate::clock::Clock;
use crate::config::Config;
use crate::http::Running;
use crate::receive::Intake;
use crate::retain;
use crate::source::{Destination, Route, Source};
use crate::store::{Ages, Store};
use crate::telemetry::Metrics;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::web::{self, Data};
use actix_web::{App, HttpServer};
use health::Recent;
use paths::{api_paths, no_such_path, open_paths};
use providers::Secret;
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
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

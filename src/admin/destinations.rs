//! Where jobs go, and how the destinations are: circuits, what they are bounded to, what runs.
//! Never an address, a command line or a secret: only the names that the operator gave.

use super::Admin;
use super::answer::Fault;
use crate::source::Destination;
use crate::store::{CircuitView, PauseView};
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// A destination, and how it is.
#[derive(Serialize)]
struct DestinationView {
    name: String,
    r#type: &'static str,
    idempotent: bool,
    circuit: Option<CircuitState>,
    rate_per_s: Option<u32>,
    concurrency: Option<u32>,
    /// Jobs of all its routes that run now, in all processes.
    running: i64,
    paused: Option<PauseView>,
}

/// A circuit: closed, or the row that says since when and why it is not.
#[derive(Serialize)]
#[serde(untagged)]
enum CircuitState {
    Closed { state: &'static str },
    NotClosed(CircuitView),
}

impl CircuitState {
    fn of(row: Option<&CircuitView>) -> Self {
        row.map_or(Self::Closed { state: "closed" }, |row| Self::NotClosed(row.clone()))
    }
}

/// `GET /api/destinations`
pub(super) async fn list(admin: Data<Admin>) -> Result<HttpResponse, Fault> {
    let (pauses, circuits) = (admin.store.pauses().await?, admin.store.circuits().await?);
    let running = admin.store.running().await?;
    let shown = |(name, destination): (&Arc<str>, &Destination)| {
        let row = circuits.iter().find(|row| *row.destination == **name);
        let of = admin.routes.iter().filter(|route| route.destination == *name);
        let is_it = |pause: &&PauseView| pause.scope == "destination" && *pause.name == **name;
        DestinationView {
            name: name.to_string(),
            r#type: destination.kind(),
            idempotent: destination.idempotent,
            circuit: destination.circuit.map(|_| CircuitState::of(row)),
            rate_per_s: destination.rate_per_s,
            concurrency: destination.concurrency,
            running: of.filter_map(|route| running.get(&*route.name)).sum(),
            paused: pauses.iter().find(is_it).cloned(),
        }
    };
    let items: Vec<DestinationView> = admin.destinations.iter().map(shown).collect();
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

impl Admin {
    /// The circuit for which the jobs of a route wait.
    pub(super) fn circuit_of<'a>(
        &self,
        route: &str,
        circuits: &'a [CircuitView],
    ) -> Option<&'a CircuitView> {
        let route = self.routes.iter().find(|known| *known.name == *route)?;
        self.destinations.get(&route.destination)?.circuit?;
        circuits.iter().find(|row| *row.destination == *route.destination)
    }
}

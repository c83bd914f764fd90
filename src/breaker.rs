//! `breaker`: leaves destinations alone that fail, and lets one job through to see whether they
//! are back.
//!
//! Each process counts its own attempts. What it finds is written to the store, whose claims then
//! refuse the destination to all processes. Only opening, trying and closing write. It never looks
//! at a job's fate, and jobs that were claimed before an opening never change what came of it.

mod trial;

pub use trial::Kept;

use crate::circuit::{Tally, Window, cooldown, is_alive};
use crate::clock::Clock;
use crate::delivery::Micros;
use crate::job::{Lease, Outcome};
use crate::source::{Circuit, Destination, Route};
use crate::store::{CircuitView, Store, StoreError};
use crate::telemetry::Metrics;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The circuits of all destinations, as this process sees them.
pub struct Breaker {
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    lease: Duration,
    watched: BTreeMap<Arc<str>, Watched>,
    /// All destinations that are configured here.
    known: BTreeSet<Arc<str>>,
}

/// A circuit that nobody has tried for a day belongs to a destination that is gone.
const FORGOTTEN_US: Micros = 86_400_000_000;

/// One destination that has a circuit.
struct Watched {
    circuit: Circuit,
    routes: Vec<Arc<str>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    window: Window,
    /// It was not closed when this process last looked.
    is_open: bool,
    /// Jobs claimed earlier than this were claimed before the last opening.
    open_until_us: Micros,
}

impl Watched {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the circuit was not closed at a time.
    fn found_open(&self, at_us: Micros) {
        let mut seen = self.seen();
        seen.window.clear();
        seen.is_open = true;
        seen.open_until_us = seen.open_until_us.max(at_us);
    }
}

impl Breaker {
    /// A breaker for the destinations that have a circuit. `lease` is how long a trial is left to
    /// a process that is not heard of.
    pub fn new(
        store: Store,
        clock: Clock,
        metrics: Arc<Metrics>,
        lease: Duration,
        destinations: &BTreeMap<Arc<str>, Destination>,
        routes: &[Arc<Route>],
    ) -> Self {
        let watched = destinations.iter().filter_map(|(name, destination)| {
            let circuit = destination.circuit?;
            // Counters that never moved are shown too.
            metrics.circuit_opened.with_label_values(&[&**name]);
            let of = routes.iter().filter(|route| route.destination == *name);
            let routes = of.map(|route| route.name.clone()).collect();
            Some((name.clone(), Watched { circuit, routes, seen: Mutex::default() }))
        });
        let watched = watched.collect();
        let known = destinations.keys().cloned().collect();
        Self { store, clock, metrics, lease, watched, known }
    }

    /// Whether a destination has a circuit.
    pub fn minds(&self, destination: &str) -> bool {
        self.watched.contains_key(destination)
    }

    /// Whether a destination's circuit was not closed at the last look.
    pub fn saw_open(&self, destination: &str) -> bool {
        self.watched.get(destination).is_some_and(|watched| watched.seen().is_open)
    }

    /// Forgets circuits that a former configuration left behind. A destination that is not known
    /// here may be known to another process, unless nobody has tried it for long.
    pub async fn forget_others(&self) -> Result<(), StoreError> {
        let long_ago_us = self.clock.now_us() - FORGOTTEN_US;
        for row in self.store.circuits().await? {
            let is_ours = self.known.contains(&*row.destination);
            if !self.minds(&row.destination) && (is_ours || row.until.0 < long_ago_us) {
                self.store.forget_circuit(&row.destination).await?;
                tracing::info!(
                    destination = row.destination,
                    "forgot the circuit of a destination that has none any more"
                );
            }
        }
        Ok(())
    }

    /// Looks at the circuits that are not closed. Every process has to: what it counted before an
    /// opening by another one counts no more.
    pub async fn look(&self) -> Result<Vec<CircuitView>, StoreError> {
        if self.watched.is_empty() {
            return Ok(Vec::new());
        }
        let asked_us = self.clock.now_us();
        let rows = self.store.circuits().await?;
        for (name, watched) in &self.watched {
            match rows.iter().any(|row| *row.destination == **name) {
                true => watched.found_open(asked_us),
                false => watched.seen().is_open = false,
            }
        }
        Ok(rows)
    }

    /// When a trial that begins or goes on now is over unless it is prolonged again.
    pub fn trial_until_us(&self) -> Micros {
        self.clock.now_us().saturating_add(micros(self.lease))
    }

    /// Counts an attempt, and opens the circuit if that was one failure too many. To be called
    /// before the settle: the next try of the job then waits already. A trial is not counted.
    pub async fn count(&self, destination: &str, lease: &Lease, kept: &Kept, outcome: &Outcome) {
        if kept.is_trial {
            return;
        }
        let Some(watched) = self.watched.get(destination) else { return };
        let Some(is_alive) = is_alive(outcome) else { return };
        let now_us = self.clock.now_us();
        let broken = {
            let mut seen = watched.seen();
            if lease.claimed_us <= seen.open_until_us {
                return;
            }
            let broken = seen.window.count(&watched.circuit, now_us, is_alive);
            if broken.is_some() {
                seen.window.clear();
            }
            broken
        };
        if let Some(tally) = broken {
            self.open(destination, watched, tally, outcome, now_us).await;
        }
    }

    async fn open(
        &self,
        destination: &str,
        watched: &Watched,
        tally: Tally,
        outcome: &Outcome,
        now_us: Micros,
    ) {
        let Tally { attempts, failures } = tally;
        let wait = cooldown(&watched.circuit, 1);
        let detail = &outcome.detail;
        let window = watched.circuit.window;
        let reason =
            format!("{failures} of {attempts} attempts within {window:?} failed: {detail}");
        let until_us = now_us.saturating_add(micros(wait));
        match self.store.open_circuit(destination, until_us, &reason, &watched.routes).await {
            Ok(opened) => {
                watched.found_open(self.clock.now_us());
                if opened {
                    self.metrics.circuit_opened.with_label_values(&[destination]).inc();
                    tracing::warn!(
                        destination,
                        reason,
                        next = crate::clock::rfc3339(until_us),
                        "circuit open: the jobs of this destination wait"
                    );
                }
            }
            Err(error) => tracing::warn!(%error, destination,
                "could not open the circuit; it goes on counting"),
        }
    }
}

fn micros(duration: Duration) -> Micros {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

//! Logs and metrics.
//!
//! A log message reads alone; its fields are for filtering. Never logged, in no place: bodies,
//! header values, secrets, signatures, URLs with their queries.

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Bounds in seconds that cover a fast answer and a slow destination alike.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

pub use prometheus::Error as MetricsError;

/// What is counted. The names start with `posthouse_`.
pub struct Metrics {
    registry: Registry,
    /// Requests to `/hooks/..`, by source; `-` for an unknown one.
    pub received: IntCounterVec,
    /// New deliveries, by source.
    pub accepted: IntCounterVec,
    /// Repeats with the same content, by source.
    pub duplicate: IntCounterVec,
    /// Repeats with other content, by source.
    pub conflict: IntCounterVec,
    /// Repeats that put dead jobs back, by source.
    pub revived: IntCounterVec,
    /// Handshakes that were answered, by source.
    pub handshakes: IntCounterVec,
    /// Fetches of senders' keys, by outcome.
    pub key_fetches: IntCounterVec,
    /// Visits of links that senders want visited, by outcome.
    pub visits: IntCounterVec,
    /// Refused requests, by source and reason.
    pub rejected: IntCounterVec,
    /// Likely causes of refusals, by source and cause; at most one a second is looked for.
    pub causes: IntCounterVec,
    /// Refused requests that were too many to be kept, by source.
    pub not_quarantined: IntCounterVec,
    /// Attempts, by route and outcome.
    pub attempts: IntCounterVec,
    /// Jobs that died, by route.
    pub died: IntCounterVec,
    /// Jobs that became uncertain, by route.
    pub uncertain: IntCounterVec,
    /// Questions to destinations about uncertain attempts, by route and answer.
    pub reconciled: IntCounterVec,
    /// Jobs taken from workers whose lease ended.
    pub takeovers: IntCounter,
    /// Settles refused because the lease was lost.
    pub leases_lost: IntCounter,
    /// Times that a circuit opened, after a trial that failed too, by destination.
    pub circuit_opened: IntCounterVec,
    /// 1 while a circuit is not closed, by destination; set when read.
    pub circuit_open: IntGaugeVec,
    /// Looks for jobs to take, each of one route.
    pub claims: IntCounter,
    /// Jobs by state, open and dead ones; set when read.
    pub jobs: IntGaugeVec,
    /// Seconds since the oldest job that may run became due; set when read.
    pub oldest_ready_seconds: IntGauge,
    /// Lanes that stand still; set when read.
    pub halted_lanes: IntGauge,
    /// Routes that are paused; set when read.
    pub paused_routes: IntGauge,
    /// Alarms that stand, by cause; set when read.
    pub alarms: IntGaugeVec,
    /// Seconds from the complete request to the answer.
    pub answer_seconds: Histogram,
    /// Seconds from the complete request to the settled job, by route.
    pub end_to_end_seconds: HistogramVec,
}

impl Metrics {
    /// A registry of its own, so that several apps in one process do not share counts.
    pub fn new() -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let vec = |name: &str, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, MetricsError>(counter)
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, MetricsError>(gauge)
        };
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, MetricsError>(counter)
        };
        let gauges = |name: &str, help: &str, label: &str| {
            let gauges = IntGaugeVec::new(Opts::new(name, help), &[label])?;
            registry.register(Box::new(gauges.clone()))?;
            Ok::<_, MetricsError>(gauges)
        };
        let answer = HistogramOpts::new("posthouse_answer_seconds", "Request complete to answer.");
        let answer_seconds = Histogram::with_opts(answer.buckets(SECONDS.to_vec()))?;
        registry.register(Box::new(answer_seconds.clone()))?;
        let whole = HistogramOpts::new("posthouse_end_to_end_seconds", "Receipt to settled job.");
        let end_to_end_seconds = HistogramVec::new(whole.buckets(SECONDS.to_vec()), &["route"])?;
        registry.register(Box::new(end_to_end_seconds.clone()))?;
        let by_source = ["source"];
        Ok(Self {
            received: vec("posthouse_received_total", "Requests to sources.", &by_source)?,
            accepted: vec("posthouse_accepted_total", "New deliveries.", &by_source)?,
            duplicate: vec("posthouse_duplicate_total", "Repeats, same content.", &by_source)?,
            conflict: vec("posthouse_conflict_total", "Repeats, other content.", &by_source)?,
            revived: vec("posthouse_revived_total", "Repeats of dead deliveries.", &by_source)?,
            handshakes: vec("posthouse_handshakes_total", "Handshakes answered.", &by_source)?,
            key_fetches: vec("posthouse_key_fetches_total", "Keys fetched.", &["outcome"])?,
            visits: vec("posthouse_visits_total", "Links visited.", &["outcome"])?,
            rejected: vec("posthouse_rejected_total", "Refused.", &["source", "reason"])?,
            causes: vec("posthouse_rejection_causes_total", "Why.", &["source", "cause"])?,
            not_quarantined: vec("posthouse_not_quarantined_total", "Not kept.", &by_source)?,
            attempts: vec("posthouse_attempts_total", "Attempts.", &["route", "outcome"])?,
            died: vec("posthouse_died_total", "Jobs given up.", &["route"])?,
            uncertain: vec("posthouse_uncertain_total", "Jobs in doubt.", &["route"])?,
            reconciled: vec("posthouse_reconciled_total", "Asked.", &["route", "answer"])?,
            takeovers: counter("posthouse_takeovers_total", "Leases that ended unsettled.")?,
            leases_lost: counter("posthouse_leases_lost_total", "Settles refused by fencing.")?,
            circuit_opened: vec("posthouse_circuit_opened_total", "Opened.", &["destination"])?,
            circuit_open: gauges("posthouse_circuit_open", "1: not closed.", "destination")?,
            claims: counter("posthouse_claims_total", "Looks for jobs to take.")?,
            jobs: gauges("posthouse_jobs", "Jobs by state, but for those that are done.", "state")?,
            oldest_ready_seconds: gauge(
                "posthouse_oldest_ready_seconds",
                "Age of the oldest due job.",
            )?,
            halted_lanes: gauge("posthouse_halted_lanes", "Lanes halted by a dead job.")?,
            paused_routes: gauge("posthouse_paused_routes", "Routes that take no jobs.")?,
            alarms: gauges("posthouse_alarms", "Alarms that stand.", "cause")?,
            answer_seconds,
            end_to_end_seconds,
            registry,
        })
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> Result<String, MetricsError> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// What is logged unless told otherwise: the server framework says little that helps.
const FILTER: &str = "info,actix_server=warn";

/// Starts logging to standard error. `POSTHOUSE_LOG` chooses what, such as `info` or
/// `posthouse=debug`; `POSTHOUSE_LOG_FORMAT=json` makes every line a JSON object.
pub fn start_logging() {
    let filter = EnvFilter::try_from_env("POSTHOUSE_LOG");
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(FILTER));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let lines = lines.with_ansi(std::io::stderr().is_terminal());
    let json = std::env::var("POSTHOUSE_LOG_FORMAT").is_ok_and(|format| format == "json");
    // A second start in one process keeps the first.
    let _ = if json { lines.json().try_init() } else { lines.try_init() };
}

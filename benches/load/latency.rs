//! How long answers take at half of the highest rate.

use crate::closed::Load;
use crate::cluster::Cluster;
use crate::ingest::{self, Case, Figures, Row};
use crate::open::{self, Schedule};
use crate::options::Options;
use crate::request::Requests;
use crate::server::Server;
use crate::tally::Times;
use std::sync::Arc;

/// Half of the rate that a store takes at most, over 64 connections with 1 KB bodies.
const CASE: Case = Case::ALL[0];

/// What half of the highest rate came to.
pub struct AtHalf {
    pub per_second: f64,
    pub times: Times,
    pub errors: u64,
}

/// Drives a store at half of its highest rate: the one in `figures`, or else one measured now.
pub fn at_half(
    options: &Options,
    cluster: &Cluster,
    figures: &Figures,
    row: Row,
) -> anyhow::Result<AtHalf> {
    let highest = match figures.of(CASE, row) {
        [] => ingest::one(options, cluster, CASE, row)?.per_second,
        _ => figures.spread(CASE, row, |measured| measured.per_second).median,
    };
    let per_second = highest / 2.0;
    let database = (row == Row::Postgres).then(|| cluster.database());
    let mut server = Server::receiver(database.as_ref().map(|database| database.url.as_str()))?;
    let load = Load {
        address: server.address()?,
        connections: CASE.connections,
        requests: Arc::new(Requests::new(CASE.body_bytes)),
    };
    let (warm_up, length) = (options.warm_up, options.length);
    let schedule = Schedule { per_second, warm_up, length, stamped: false };
    let tally = open::run(&load, schedule)?;
    eprintln!("{} at {per_second:.0}/s: done", row.name());
    Ok(AtHalf { per_second, times: tally.times_ms(), errors: tally.errors })
}

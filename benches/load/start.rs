//! From a request to its handler: how long a lone delivery waits before it is worked on.
//!
//! The id of a delivery carries the time at which its request was to be sent; receiver and worker
//! are one process, and the handler looks at the same machine's clock.

use crate::closed::Load;
use crate::cluster::Cluster;
use crate::ingest::Row;
use crate::library;
use crate::open::{self, Schedule};
use crate::options::Options;
use crate::request::{Requests, stamp};
use crate::server::Server;
use crate::tally::Times;
use anyhow::{Context, bail};
use posthouse::app::Role;
use posthouse::clock::wall_us;
use posthouse::deliver::Handler;
use posthouse::job::{Class, Lease, Outcome};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Requests a second: far below what any part could be busy with.
pub const PER_SECOND: f64 = 200.0;

/// Connections that send in turn.
const CONNECTIONS: usize = 8;

/// For jobs that are still under way when the last request has been answered.
const REST: Duration = Duration::from_secs(1);

/// Notes how long each delivery took to get here, in microseconds, in order of arrival.
#[derive(Default)]
struct Arrivals(Mutex<Vec<u32>>);

impl Handler for Arrivals {
    fn handle<'a>(
        &'a self,
        lease: &'a Lease,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        let now_us = wall_us().unsigned_abs();
        let took_us = now_us.saturating_sub(stamp(&lease.delivery.key).unwrap_or_default());
        let took_us = u32::try_from(took_us).unwrap_or(u32::MAX);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(took_us);
        Box::pin(std::future::ready(Outcome::new(Class::Accepted, "")))
    }
}

/// The role: receives and works until standard input is closed, then prints how many deliveries
/// came and how long they took. The first `skipped` ones are left out.
pub fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let skipped: usize = arguments.first().context("a number to skip")?.parse()?;
    library::run(async {
        let config = library::config()?;
        let arrivals = Arc::new(Arrivals::default());
        let app = library::start(&config, Role::All, arrivals.clone()).await?;
        let address = app.public.context("it does not receive")?;
        println!("receiving http://{address}/hooks/github");
        let _ = tokio::io::stdin().read(&mut [0]).await?;
        let mut took_us = arrivals.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all = took_us.len();
        took_us.drain(..skipped.min(all));
        took_us.sort_unstable();
        println!("{}", serde_json::to_string(&(all, Times::of_sorted_us(&took_us)))?);
        // How it stops is not measured here.
        std::process::exit(0);
    })
}

/// Sends to the role and returns what it says.
pub fn measure(options: &Options, cluster: &Cluster, row: Row) -> anyhow::Result<Times> {
    let database = (row == Row::Postgres).then(|| cluster.database());
    let url = database.as_ref().map(|database| database.url.as_str());
    let skipped = (PER_SECOND * options.warm_up.as_secs_f64()) as usize;
    let mut server = Server::own(&["serve-start", &skipped.to_string()], &[], url)?;
    let load = Load {
        address: server.address()?,
        connections: CONNECTIONS,
        requests: Arc::new(Requests::new(1024)),
    };
    let (warm_up, length) = (options.warm_up, options.length);
    let schedule = Schedule { per_second: PER_SECOND, warm_up, length, stamped: true };
    let tally = open::run(&load, schedule)?;
    std::thread::sleep(REST);
    let line = server.finish(Duration::from_secs(60))?;
    let (count, times): (u64, Times) = serde_json::from_str(&line)?;
    if tally.errors > 0 || count != tally.acknowledged {
        let sent = tally.acknowledged;
        bail!("{sent} acknowledged, {} errors, and {count} reached the handler", tally.errors);
    }
    eprintln!("{} from request to handler: done", row.name());
    Ok(times)
}

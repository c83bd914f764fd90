//! Measures the release program: how much it takes in, how fast it answers, how fast it drains.
//!
//! One command starts everything, on free ports and in temporary directories, drives it over the
//! loopback and prints figures beside the targets; see `benches/README.md`. Figures are compared
//! within one run only. It decides nothing: a missed target is printed, not failed.

mod answer;
mod ceiling;
mod closed;
mod cluster;
mod disk;
mod drain;
mod harness;
mod ingest;
mod latency;
mod library;
mod open;
mod options;
mod report;
mod request;
mod server;
mod start;
mod tally;
mod usage;

use cluster::Cluster;
use ingest::{Case, Figures, Row};
use options::{Options, Part};
use report::Targets;
use std::process::ExitCode;

/// Where databases are put: by custom this is on a disk, where `/tmp` may be memory.
const DIRECTORY: &str = "/var/tmp";

/// The stores that are measured.
const STORES: [Row; 2] = [Row::Sqlite, Row::Postgres];

/// Longest time that an answer may take at half of the highest rate, 99 of 100, in milliseconds.
const AT_HALF_P99_MS: f64 = 15.0;

/// The same from a request to its handler, half of them and 99 of 100.
const START_P50_MS: f64 = 3.0;
const START_P99_MS: f64 = 15.0;

/// Jobs a second out of a full queue.
const DRAIN_PER_SECOND: f64 = 8_000.0;

/// Jobs running at once: the default, and more; and whether there is a long lane beside them.
const DRAINS: [(usize, bool); 3] = [(64, false), (16, false), (64, true)];

/// Resident memory under full load.
const MEMORY_MIB: f64 = 150.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("serve-ceiling") => ceiling::serve(),
        Some("serve-drain") => drain::serve(rest),
        Some("serve-start") => start::serve(rest),
        _ if !arguments.iter().any(|argument| argument == "--bench") => {
            println!("measures only as `cargo bench --bench load`");
            Ok(())
        }
        _ => measure(&Options::read(arguments)?),
    }
}

fn measure(options: &Options) -> anyhow::Result<()> {
    // Fails only when it was called before.
    let _ = tempfile::env::override_temp_dir(DIRECTORY.as_ref());
    let cluster = Cluster::start()?;
    let mut targets = Targets::default();
    let mut figures = Figures::default();
    let wants = |part| options.parts.contains(&part);
    if wants(Part::Ingest) {
        figures = ingest::measure(options, &cluster)?;
        report::table(&figures);
        targets.ingest(&figures);
    }
    if wants(Part::Latency) {
        latencies(options, &cluster, &figures, &mut targets)?;
    }
    if wants(Part::Drain) {
        drains(options, &cluster, &mut targets)?;
    }
    if wants(Part::Memory) {
        memory(options, &cluster, &figures, &mut targets)?;
    }
    targets.print();
    println!(
        "\n{} cores; {:.0} fdatasync/s of 1 KB; {} rounds of {:?} after {:?}; {}",
        std::thread::available_parallelism()?,
        disk::syncs_per_second()?,
        options.rounds,
        options.length,
        options.warm_up,
        cluster.version()?
    );
    Ok(())
}

fn latencies(
    options: &Options,
    cluster: &Cluster,
    figures: &Figures,
    targets: &mut Targets,
) -> anyhow::Result<()> {
    for row in STORES {
        let half = latency::at_half(options, cluster, figures, row)?;
        let what = format!("{} answers at {:.0}/s, half of the most", row.name(), half.per_second);
        targets.times(&what, half.times, None, AT_HALF_P99_MS);
        targets.at_most(&format!("{what}, errors"), half.errors as f64, 0.0);
    }
    for row in STORES {
        let times = start::measure(options, cluster, row)?;
        let what = format!("{} request to handler at {}/s", row.name(), start::PER_SECOND);
        targets.times(&what, times, Some(START_P50_MS), START_P99_MS);
    }
    Ok(())
}

fn drains(options: &Options, cluster: &Cluster, targets: &mut Targets) -> anyhow::Result<()> {
    for row in STORES {
        for (concurrency, is_beside_long) in DRAINS {
            let waiting = if is_beside_long { options.waiting } else { 0 };
            let drained = drain::measure(options, cluster, row, concurrency, waiting)?;
            let mut what =
                format!("{} drain of {}, {concurrency} at once", row.name(), options.jobs);
            if is_beside_long {
                what += &format!(", beside {waiting}");
            }
            targets.at_least(&format!("{what}, jobs/s"), drained.per_second, DRAIN_PER_SECOND);
            let twice = drained.attempts - options.jobs as i64;
            let faults = drained.misplaced as f64 + twice as f64;
            targets.at_most(&format!("{what}, out of order or twice"), faults, 0.0);
        }
    }
    Ok(())
}

fn memory(
    options: &Options,
    cluster: &Cluster,
    figures: &Figures,
    targets: &mut Targets,
) -> anyhow::Result<()> {
    let [.., heaviest] = Case::ALL;
    for row in STORES {
        let memory = match figures.memory(row) {
            Some(memory) => memory,
            None => ingest::one(options, cluster, heaviest, row)?.memory.unwrap_or_default(),
        };
        targets.at_most(&format!("{} peak memory MiB", row.name()), memory.peak_mib, MEMORY_MIB);
        targets.note(&format!("{} memory after the load, MiB", row.name()), memory.now_mib);
    }
    Ok(())
}

//! What the command line asks for.

use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::time::Duration;

/// What to say to a command line that is not understood.
const USAGE: &str = "usage: cargo bench --bench load -- [--quick] [--seconds N] [--rounds N] \
    [--only ingest,latency,drain,memory]";

/// The parts that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Requests a second and CPU time, beside the ceiling and `pgbench`.
    Ingest,
    /// Times of answers at half of the highest rate, and from a request to its handler.
    Latency,
    /// Jobs a second out of a full queue.
    Drain,
    /// Resident memory under the heaviest load.
    Memory,
}

impl Part {
    const ALL: [(&'static str, Self); 4] = [
        ("ingest", Self::Ingest),
        ("latency", Self::Latency),
        ("drain", Self::Drain),
        ("memory", Self::Memory),
    ];
}

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to measure.
    pub parts: BTreeSet<Part>,
    /// How long each load runs.
    pub length: Duration,
    /// How long it runs before that, uncounted.
    pub warm_up: Duration,
    /// How often each load is repeated.
    pub rounds: usize,
    /// Jobs to drain, and the lanes they are in.
    pub jobs: usize,
    pub lanes: usize,
    /// Jobs in the one long lane beside them.
    pub waiting: usize,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub fn read(arguments: &[String]) -> anyhow::Result<Self> {
        // Three rounds make a median; six seconds hold several checkpoints of SQLite.
        let mut options = Self {
            parts: Part::ALL.into_iter().map(|(_, part)| part).collect(),
            length: Duration::from_secs(6),
            warm_up: Duration::from_secs(1),
            rounds: 3,
            jobs: 20_000,
            lanes: 1_000,
            waiting: 100_000,
        };
        if arguments.iter().any(|argument| argument == "--quick") {
            let second = Duration::from_secs(1);
            options = Self { length: second, warm_up: second / 4, rounds: 1, ..options };
            options = Self { jobs: 2_000, lanes: 100, waiting: 5_000, ..options };
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                // Cargo says by this that it is `cargo bench`.
                "--bench" | "--quick" => {}
                "--seconds" => options.length = Duration::from_secs(number(rest.next(), 300)?),
                "--rounds" => options.rounds = usize::try_from(number(rest.next(), 100)?)?,
                "--only" => options.parts = parts(rest.next().context(USAGE)?)?,
                _ => bail!("{argument}: {USAGE}"),
            }
        }
        Ok(options)
    }
}

fn number(text: Option<&String>, max: u64) -> anyhow::Result<u64> {
    let number = text.and_then(|text| text.parse().ok()).context(USAGE)?;
    if !(1..=max).contains(&number) {
        bail!("{number} is not between 1 and {max}");
    }
    Ok(number)
}

fn parts(list: &str) -> anyhow::Result<BTreeSet<Part>> {
    let part = |name: &str| {
        let found = Part::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, part)| part).with_context(|| format!("{name}: {USAGE}"))
    };
    list.split(',').map(part).collect()
}

//! Requests a second: the ceiling, both stores and `pgbench`, one after the other, several times.
//!
//! Every measurement starts a new server on an empty database. What is compared runs within the
//! same half minute, because a shared machine is faster in one minute than in the next.

use crate::closed::{self, Load};
use crate::cluster::Cluster;
use crate::options::Options;
use crate::request::Requests;
use crate::server::Server;
use crate::tally::{Spread, Times, spread};
use crate::usage::Memory;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Ceiling,
    Sqlite,
    Postgres,
    Pgbench,
}

impl Row {
    /// All, in the order of a round.
    pub const ALL: [Self; 4] = [Self::Ceiling, Self::Sqlite, Self::Postgres, Self::Pgbench];

    /// What the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Pgbench => "pgbench",
        }
    }
}

/// How a server is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub body_bytes: usize,
    pub connections: usize,
}

impl Case {
    /// All, the heaviest one last.
    pub const ALL: [Self; 4] = [
        Self { body_bytes: 1024, connections: 64 },
        Self { body_bytes: 1024, connections: 256 },
        Self { body_bytes: 10_240, connections: 64 },
        Self { body_bytes: 10_240, connections: 256 },
    ];
}

/// What one measurement came to.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub per_second: f64,
    /// None for `pgbench`, which says only the average.
    pub times: Option<Times>,
    /// CPU time of server and store for each delivery, in microseconds.
    pub cpu_us: f64,
    pub errors: u64,
    /// Of the server; none for `pgbench`.
    pub memory: Option<Memory>,
}

/// All measurements, those of one round at the same index.
#[derive(Default)]
pub struct Figures(BTreeMap<(Case, Row), Vec<Measured>>);

impl Figures {
    /// The measurements of one row of the table, a round each.
    pub fn of(&self, case: Case, row: Row) -> &[Measured] {
        self.0.get(&(case, row)).map_or(&[], Vec::as_slice)
    }

    /// One figure of a row over all rounds.
    pub fn spread(&self, case: Case, row: Row, figure: fn(&Measured) -> f64) -> Spread {
        spread(self.of(case, row).iter().map(figure))
    }

    /// How the rate of a row compares to that of another one, round by round.
    pub fn ratio(&self, case: Case, row: Row, to: Row) -> Spread {
        let pairs = self.of(case, row).iter().zip(self.of(case, to));
        spread(pairs.map(|(one, other)| one.per_second / other.per_second))
    }

    /// The most memory that a server with a store ever had, by row.
    pub fn memory(&self, row: Row) -> Option<Memory> {
        let all = self.0.iter().filter(|((_, of), _)| *of == row).flat_map(|(_, all)| all);
        let all = all.filter_map(|measured| measured.memory);
        all.max_by(|one, other| one.peak_mib.total_cmp(&other.peak_mib))
    }
}

/// Measures all rows of all cases.
pub fn measure(options: &Options, cluster: &Cluster) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    for round in 1..=options.rounds {
        for case in Case::ALL {
            for row in Row::ALL {
                let measured = one(options, cluster, case, row)
                    .with_context(|| format!("{} {case:?}", row.name()))?;
                eprintln!(
                    "round {round} of {}: {} bytes, {} connections, {}: {:.0}/s",
                    options.rounds,
                    case.body_bytes,
                    case.connections,
                    row.name(),
                    measured.per_second
                );
                figures.0.entry((case, row)).or_default().push(measured);
            }
        }
    }
    Ok(figures)
}

/// Measures one row of one case once.
pub fn one(options: &Options, cluster: &Cluster, case: Case, row: Row) -> anyhow::Result<Measured> {
    let database = (row == Row::Postgres).then(|| cluster.database());
    let url = database.as_ref().map(|database| database.url.as_str());
    let mut server = match row {
        Row::Pgbench => {
            let inserted = cluster.pgbench(options.length)?;
            let (per_second, cpu_us) = (inserted.per_second, inserted.cpu_us);
            return Ok(Measured { per_second, times: None, cpu_us, errors: 0, memory: None });
        }
        Row::Ceiling => Server::own(&["serve-ceiling"], &[], None)?,
        Row::Sqlite | Row::Postgres => Server::receiver(url)?,
    };
    let load = Load {
        address: server.address()?,
        connections: case.connections,
        requests: Arc::new(Requests::new(case.body_bytes)),
    };
    let cpu_us = || {
        let of_store_us = if row == Row::Postgres { cluster.cpu_us()? } else { 0 };
        Ok(server.cpu_us()? + of_store_us)
    };
    let (tally, before_us, after_us) = closed::run(&load, options.warm_up, options.length, cpu_us)?;
    let memory = Some(server.memory()?);
    if row != Row::Ceiling {
        let stored = cluster.number(&server.database(), "SELECT count(*) FROM deliveries");
        let acknowledged = i64::try_from(tally.acknowledged)?;
        if stored < acknowledged {
            bail!("{acknowledged} deliveries were acknowledged, but {stored} are stored");
        }
    }
    Ok(Measured {
        per_second: tally.count() as f64 / options.length.as_secs_f64(),
        times: Some(tally.times_ms()),
        cpu_us: (after_us - before_us) as f64 / tally.count().max(1) as f64,
        errors: tally.errors,
        memory,
    })
}

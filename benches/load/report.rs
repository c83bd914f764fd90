//! What is printed: one table of rates, and one of targets with what was measured beside them.

use crate::ingest::{Case, Figures, Measured, Row};
use crate::tally::{Spread, Times};
use std::fmt::Write;

/// What durable ingest is to reach of the ceiling: store, connections, share.
const OF_CEILING: [(Row, Case, f64); 4] = [
    (Row::Sqlite, Case::ALL[0], 0.25),
    (Row::Postgres, Case::ALL[0], 0.28),
    (Row::Sqlite, Case::ALL[1], 0.33),
    (Row::Postgres, Case::ALL[1], 0.33),
];

/// How often durable ingest is to exceed `pgbench`.
const OF_PGBENCH: f64 = 1.7;

/// CPU microseconds that a delivery of 1 KB may take, server and store together.
const CPU_US: [(Row, f64); 2] = [(Row::Sqlite, 90.0), (Row::Postgres, 105.0)];

/// How much more a delivery of 10 KB may take.
const CPU_OF_LARGE: f64 = 2.0;

/// Targets and what was measured, in the order they were added.
#[derive(Default)]
pub struct Targets(String);

impl Targets {
    /// A figure that is to be as large as `bound` or larger.
    pub fn at_least(&mut self, what: &str, measured: f64, bound: f64) {
        self.line(what, measured, ">=", bound, measured >= bound);
    }

    /// A figure that is to be as small as `bound` or smaller.
    pub fn at_most(&mut self, what: &str, measured: f64, bound: f64) {
        self.line(what, measured, "<=", bound, measured <= bound);
    }

    /// Both times of a percentile target, and the longest, which has none.
    pub fn times(&mut self, what: &str, times: Times, p50: Option<f64>, p99: f64) {
        match p50 {
            Some(bound) => self.at_most(&format!("{what}, p50 ms"), times.p50, bound),
            None => self.note(&format!("{what}, p50 ms"), times.p50),
        }
        self.at_most(&format!("{what}, p99 ms"), times.p99, p99);
        self.note(&format!("{what}, longest ms"), times.max);
    }

    /// A figure without a target.
    pub fn note(&mut self, what: &str, measured: f64) {
        let _ = writeln!(self.0, "{what:<72}{:>10}", short(measured));
    }

    fn line(&mut self, what: &str, measured: f64, sign: &str, bound: f64, is_met: bool) {
        let (measured, bound) = (short(measured), short(bound));
        let verdict = if is_met { "met" } else { "MISSED" };
        let _ = writeln!(self.0, "{what:<72}{measured:>10}   {sign} {bound:<8}{verdict}");
    }

    /// The targets that follow from the rates.
    pub fn ingest(&mut self, figures: &Figures) {
        for (row, case, bound) in OF_CEILING {
            let what = format!("{} of the ceiling, {}", row.name(), title(case));
            self.at_least(&what, figures.ratio(case, row, Row::Ceiling).median, bound);
        }
        let [small, _, large, _] = Case::ALL;
        for (row, bound) in CPU_US {
            let what = format!("{} to pgbench, {}", row.name(), title(small));
            self.at_least(&what, figures.ratio(small, row, Row::Pgbench).median, OF_PGBENCH);
            let cpu_us = |case| figures.spread(case, row, |measured| measured.cpu_us).median;
            let what = format!("{} CPU us a delivery, {}", row.name(), title(small));
            self.at_most(&what, cpu_us(small), bound);
            let what = format!("{} CPU, 10 KB to 1 KB, 64 connections", row.name());
            self.at_most(&what, cpu_us(large) / cpu_us(small), CPU_OF_LARGE);
        }
    }

    /// Prints what there is.
    pub fn print(&self) {
        println!("\n{:<72}{:>10}   {:<11}", "figure", "measured", "target");
        print!("{}", self.0);
    }
}

/// What stands over the columns made by `cells`.
const HEAD: &str = "                                       req/s          of ceiling          to \
    pgbench   p50 ms   p99 ms   max ms  CPU us  errors";

/// Prints the rates.
pub fn table(figures: &Figures) {
    println!("\n{HEAD}");
    for case in Case::ALL {
        for row in Row::ALL {
            let rounds = figures.of(case, row);
            if !rounds.is_empty() {
                println!("{:<24}{}", title(case), cells(figures, case, row));
            }
        }
    }
}

fn cells(figures: &Figures, case: Case, row: Row) -> String {
    let median = |figure| short(figures.spread(case, row, figure).median);
    let time = |figure: fn(&Times) -> f64| {
        let times = figures.of(case, row).iter().filter_map(|measured| measured.times.as_ref());
        let median = crate::tally::spread(times.map(figure)).median;
        if median.is_nan() { "-".into() } else { short(median) }
    };
    let errors: u64 = figures.of(case, row).iter().map(|measured| measured.errors).sum();
    format!(
        "{:<11}{:>9} {:>19} {:>19} {:>8} {:>8} {:>8} {:>7} {:>7}",
        row.name(),
        median(|measured: &Measured| measured.per_second),
        range(figures.ratio(case, row, Row::Ceiling)),
        range(figures.ratio(case, row, Row::Pgbench)),
        time(|times| times.p50),
        time(|times| times.p99),
        time(|times| times.max),
        median(|measured: &Measured| measured.cpu_us),
        errors
    )
}

fn title(case: Case) -> String {
    format!("{} KB, {} connections", case.body_bytes / 1024, case.connections)
}

/// The median and how far the rounds lie apart.
fn range(spread: Spread) -> String {
    format!("{:.2} ({:.2}..{:.2})", spread.median, spread.low, spread.high)
}

/// Three digits or more, without false exactness.
fn short(figure: f64) -> String {
    match figure.abs() {
        small if small < 10.0 => format!("{figure:.2}"),
        middle if middle < 100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

//! Counts answers and times, and sums up what several rounds came to.

use std::time::Duration;

/// What a run came to.
#[derive(Default)]
pub struct Tally {
    /// Times of the answers that count, in microseconds.
    times_us: Vec<u32>,
    /// Every 2xx, also before and after the time that counts: so many deliveries must be stored.
    pub acknowledged: u64,
    /// Answers other than 2xx, and connections that broke.
    pub errors: u64,
}

impl Tally {
    /// Notes an answer; `counts` when it came within the time that is measured.
    pub fn answered(&mut self, status: u16, time: Duration, counts: bool) {
        if !(200..300).contains(&status) {
            self.errors += 1;
            return;
        }
        self.acknowledged += 1;
        if counts {
            self.times_us.push(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
        }
    }

    /// Adds what another connection or thread has counted.
    pub fn add(&mut self, other: Self) {
        self.times_us.extend(other.times_us);
        self.acknowledged += other.acknowledged;
        self.errors += other.errors;
    }

    /// Answers that count.
    pub fn count(&self) -> usize {
        self.times_us.len()
    }

    /// Median, 99th percentile and maximum, in milliseconds.
    pub fn times_ms(&self) -> Times {
        let mut sorted = self.times_us.clone();
        sorted.sort_unstable();
        Times::of_sorted_us(&sorted)
    }
}

/// How long something took, in milliseconds.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Times {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

impl Times {
    /// Of microseconds in ascending order.
    pub fn of_sorted_us(sorted: &[u32]) -> Self {
        let at = |share: f64| {
            let index = (sorted.len() as f64 * share) as usize;
            let value = sorted.get(index.min(sorted.len().saturating_sub(1)));
            f64::from(value.copied().unwrap_or_default()) / 1000.0
        };
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// One figure over several rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// The median of some figures and how far they lie apart.
pub fn spread(figures: impl IntoIterator<Item = f64>) -> Spread {
    let mut sorted: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let last = sorted.len().saturating_sub(1);
    let median = (at(last / 2) + at(sorted.len() / 2)) / 2.0;
    Spread { median, low: at(0), high: at(last) }
}

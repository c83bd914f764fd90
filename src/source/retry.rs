//! When to try again and when to stop.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The schedule of further tries, and what an answer means for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Tries in all, the first one included.
    pub max_attempts: i64,
    /// No try later than this after the job was made.
    pub max_age: Duration,
    /// The upper bound of the first wait.
    pub base: Duration,
    /// No wait is longer, `Retry-After` included.
    pub cap: Duration,
    /// Statuses that are tried again although they would not be.
    pub retry_on: Vec<Statuses>,
    /// Statuses that are given up although they would be tried again. They come first.
    pub dead_on: Vec<Statuses>,
}

/// HTTP statuses: one (`404`), a class (`4xx`) or a range (`500-504`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    low: i64,
    high: i64,
}

impl Statuses {
    /// Whether a status is among them.
    pub fn has(self, status: i64) -> bool {
        (self.low..=self.high).contains(&status)
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (low, high) if low == high => write!(out, "{low}"),
            (low, high) => write!(out, "{low}-{high}"),
        }
    }
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|_| text.len() == 3);
        let ends = match (text.strip_suffix("xx"), text.split_once('-')) {
            (Some(class), _) => number(&format!("{class}00")).map(|low: i64| (low, low + 99)),
            (None, Some((low, high))) => number(low).zip(number(high)),
            (None, None) => number(text).map(|status| (status, status)),
        };
        match ends {
            Some((low, high)) if low <= high && low >= 300 && high <= 599 => Ok(Self { low, high }),
            _ => Err("expected statuses from 300 to 599, such as 404, 5xx or 500-504".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_one_a_class_or_a_range() {
        let has = |text: &str, status| text.parse::<Statuses>().unwrap().has(status);
        assert!(has("404", 404) && !has("404", 405));
        assert!(has("5xx", 500) && has("5xx", 599) && !has("5xx", 499));
        assert!(has("500-504", 504) && !has("500-504", 505));
        for text in ["", "4", "2xx", "200", "6xx", "504-500", "4xxx", "-404", "404-", "+404"] {
            assert!(text.parse::<Statuses>().is_err(), "{text:?}");
        }
    }
}

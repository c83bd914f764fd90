//! Durations and sizes as people write them: `250ms`, `30s`, `14d`; `64KiB`, `1MiB`.
//!
//! One parser each, whole numbers only, one unit only. Never guesses a unit.

use super::scalars::{Form, Scalar};
use serde_json::Value as Json;
use std::time::Duration;

/// Units of time in milliseconds, the longest first.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of size in bytes, the largest first.
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub usize);

impl Scalar for Duration {
    const FORM: Form = Form::Text;
    const EXPECTED: &'static str = r#"a duration such as "250ms", "30s", "5m", "2h" or "35d""#;

    fn parse(text: &str) -> Option<Self> {
        measure(text, &TIMES).map(Self::from_millis)
    }

    fn json(&self) -> Json {
        let millis = u64::try_from(self.as_millis()).unwrap_or(u64::MAX);
        written(millis, &TIMES).into()
    }

    fn order(&self) -> Option<u128> {
        Some(self.as_millis())
    }
}

impl Scalar for Size {
    const FORM: Form = Form::TextOrWhole;
    const EXPECTED: &'static str = r#"a size such as "64KiB" or "1MiB", or a number of bytes"#;

    fn parse(text: &str) -> Option<Self> {
        let bytes = text.parse().ok().or_else(|| measure(text, &SIZES))?;
        usize::try_from(bytes).ok().map(Self)
    }

    fn json(&self) -> Json {
        written(self.0 as u64, &SIZES).into()
    }

    fn order(&self) -> Option<u128> {
        Some(self.0 as u128)
    }
}

/// Reads digits and a unit.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (_, factor) = units.iter().find(|(unit, _)| *unit == &text[digits.len()..])?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Writes a number in the largest unit that leaves it whole.
fn written(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| number >= *factor && number.is_multiple_of(*factor);
    let (unit, factor) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{unit}", number / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_every_unit() {
        for (text, millis) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("35d", 3_024_000_000),
            ("0s", 0),
        ] {
            assert_eq!(Duration::parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn durations_without_a_clear_unit_are_refused() {
        let bad = ["", "30", "s", "30 s", "1.5s", "-1s", "1h30m", "30S", "1w", "\u{0663}s", "+5s"];
        for text in bad {
            assert_eq!(Duration::parse(text), None, "{text}");
        }
        assert_eq!(Duration::parse("999999999999999999999d"), None);
        assert_eq!(Duration::parse("9999999999999999d"), None, "overflows");
    }

    #[test]
    fn sizes_are_read_in_binary_units_or_bytes() {
        for (text, bytes) in
            [("1MiB", 1 << 20), ("25MiB", 25 << 20), ("64KiB", 65_536), ("17", 17), ("17B", 17)]
        {
            assert_eq!(Size::parse(text), Some(Size(bytes)), "{text}");
        }
        for text in ["", "1MB", "1M", "1 MiB", "1.5MiB", "-1", "1mib", "99999999999GiB"] {
            assert_eq!(Size::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in ["250ms", "90s", "5m", "36h", "14d", "0ms"] {
            assert_eq!(Duration::parse(text).expect("a duration").json(), text);
        }
        for text in ["64KiB", "1MiB", "1025B", "2GiB", "0B"] {
            assert_eq!(Size::parse(text).expect("a size").json(), text);
        }
    }
}

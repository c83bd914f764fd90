//! Times as operators give and read them: `2h` for two hours ago, and how long ago a time was.

use crate::clock::{Time, wall_us};
use crate::delivery::Micros;
use std::time::Duration;

/// Units of an age, in seconds.
const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];

/// Reads a time with its zone, or an age such as `90s`, `15m`, `2h` or `3d`.
pub(super) fn moment(text: &str) -> Result<Time, String> {
    moment_at(text, wall_us())
}

fn moment_at(text: &str, now_us: Micros) -> Result<Time, String> {
    let age = UNITS.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        i64::try_from(number.checked_mul(*seconds)?.checked_mul(1_000_000)?).ok()
    });
    match age {
        Some(age_us) => Ok(Time(now_us.saturating_sub(age_us).max(0))),
        None => text.parse().map_err(|error| format!("{error}, nor an age such as 15m or 2h")),
    }
}

/// A time to the second; anything else as it is.
pub(super) fn short(text: &str) -> String {
    match text.parse::<Time>() {
        Ok(time) => crate::clock::rfc3339(time.0.div_euclid(1_000_000) * 1_000_000),
        Err(_) => text.to_owned(),
    }
}

/// How long ago a time was, or how far ahead it is.
pub(super) fn ago(text: &str, now_us: Micros) -> String {
    let Ok(time) = text.parse::<Time>() else { return String::new() };
    let apart = span(Duration::from_micros(now_us.abs_diff(time.0)));
    if time.0 > now_us { format!("in {apart}") } else { format!("{apart} ago") }
}

/// A duration in its two largest units, or in milliseconds.
pub(super) fn span(duration: Duration) -> String {
    let s = duration.as_secs();
    match s {
        0 => format!("{}ms", duration.as_millis()),
        1..60 => format!("{s}s"),
        60..3600 => format!("{}m {}s", s / 60, s % 60),
        3600..86_400 => format!("{}h {}m", s / 3600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3600 % 24),
    }
}

/// The time between two times.
pub(super) fn between(from: &str, to: &str) -> Option<Duration> {
    let (from, to) = (from.parse::<Time>().ok()?, to.parse::<Time>().ok()?);
    Some(Duration::from_micros(u64::try_from(to.0 - from.0).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: Micros = 1_800_000_000_000_000;

    #[test]
    fn an_age_counts_back_from_now() {
        let seconds_ago = |text| moment_at(text, NOW_US).map(|time| (NOW_US - time.0) / 1_000_000);
        assert_eq!(seconds_ago("90s"), Ok(90));
        assert_eq!(seconds_ago("15m"), Ok(900));
        assert_eq!(seconds_ago("2h"), Ok(7200));
        assert_eq!(seconds_ago("3d"), Ok(259_200));
        assert_eq!(moment_at("99999999d", NOW_US), Ok(Time(0)), "before 1970 nothing happened");
    }

    #[test]
    fn a_time_has_its_zone_or_is_refused() {
        assert_eq!(moment_at("1970-01-01T01:00:00+01:00", NOW_US), Ok(Time(0)));
        for text in ["2026-03-01T12:00:00", "2026-03-01", "h", "1w", "-2h", "", "9999999999999999d"]
        {
            let fault = moment_at(text, NOW_US).unwrap_err();
            assert!(fault.contains("zone"), "{text}: {fault}");
        }
    }

    #[test]
    fn times_are_shown_for_people() {
        assert_eq!(short("2026-03-01T12:00:00.999999Z"), "2026-03-01T12:00:00Z");
        assert_eq!(short("out of range"), "out of range");
        let at = |offset_s: i64| crate::clock::rfc3339(NOW_US + offset_s * 1_000_000);
        assert_eq!(ago(&at(-5), NOW_US), "5s ago");
        assert_eq!(ago(&at(-7500), NOW_US), "2h 5m ago");
        assert_eq!(ago(&at(200_000), NOW_US), "in 2d 7h");
        assert_eq!(span(Duration::from_micros(12_900)), "12ms");
    }
}

//! Reads what came back from an `http` destination, or did not, as an outcome.
//!
//! What matters for every failure is whether the request may have been acted on: if no
//! connection came about it was not, after that nobody knows. Nothing here sends or waits, and
//! no text made here has a query, a user name or a password in it.

use super::address::Forbidden;
use crate::delivery::Micros;
use crate::job::{Class, Fault, Outcome};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use std::error::Error;
use std::io;
use std::time::{Duration, UNIX_EPOCH};
use url::Url;

/// Characters of a redirect's target in the detail.
const LOCATION_CHARS_MAX: usize = 200;

/// The time limits of a destination, for the text of a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    pub(super) total: Duration,
}

/// The outcome of an answer, by its status. `now_us` is when the answer came.
pub(super) fn answered(
    status: StatusCode,
    headers: &HeaderMap,
    called: &Url,
    now_us: Micros,
) -> Outcome {
    let wait = headers.get(RETRY_AFTER).map(|value| value.as_bytes());
    let retry_after_ms = wait.and_then(|value| retry_after(value, now_us));
    let class = match status.as_u16() {
        200..=299 => Class::Accepted,
        410 => Class::Gone,
        408 | 425 | 429 | 500..=599 => Class::Failed,
        _ => Class::Refused,
    };
    let detail = match status.is_redirection() {
        true => redirected(status, headers, called),
        false => status.to_string(),
    };
    let status = Some(status.as_u16().into());
    Outcome { status, retry_after_ms, ..Outcome::new(class, detail) }
}

/// Says where a redirect points, for the operator to correct the URL: it is not followed, since
/// a client would turn the POST into a GET and take a login page for success.
fn redirected(status: StatusCode, headers: &HeaderMap, called: &Url) -> String {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|text| called.join(text).ok()).map(|target| {
        let shown = format!("{}{}", target.origin().ascii_serialization(), target.path());
        super::one_line(&shown, LOCATION_CHARS_MAX)
    });
    let target = target.as_deref().unwrap_or("nowhere that can be read");
    format!("redirect {} to {target}", status.as_u16())
}

/// `Retry-After` in milliseconds: seconds, or any of the three forms of an HTTP date.
fn retry_after(value: &[u8], now_us: Micros) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has is a long time, not a fault.
        return Some(text.parse().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    let date = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let now = Duration::from_micros(u64::try_from(now_us).ok()?);
    u64::try_from(date.saturating_sub(now).as_millis()).ok()
}

/// The outcome of a request that got no answer.
pub(super) fn unanswered(error: &reqwest::Error, limits: Limits) -> Outcome {
    let unreached = Class::Unreached;
    let cause = root(error);
    if let Some(forbidden) = find::<Forbidden>(error) {
        return Outcome::new(Class::Refused, forbidden.to_string()).blaming(Fault::Posthouse);
    }
    if error.is_builder() {
        let detail = format!("the request cannot be made: {cause}");
        return Outcome::new(Class::Refused, detail).blaming(Fault::Posthouse);
    }
    if error.is_connect() && error.is_timeout() {
        let ms = limits.connect.as_millis();
        return Outcome::new(unreached, format!("no connection within {ms} ms"));
    }
    if error.is_connect() {
        let refused = |io: &io::Error| io.kind() == io::ErrorKind::ConnectionRefused;
        let what = if error.is_dns() {
            "DNS lookup failed"
        } else if find::<rustls::Error>(error).is_some() {
            "TLS handshake failed"
        } else if find::<io::Error>(error).is_some_and(refused) {
            "connection refused"
        } else {
            "cannot connect"
        };
        return Outcome::new(unreached, format!("{what}: {cause}"));
    }
    if error.is_timeout() {
        let ms = limits.total.as_millis();
        return Outcome::new(Class::Uncertain, format!("timeout after {ms} ms, outcome unknown"));
    }
    let detail = format!("connection closed before an answer, outcome unknown: {cause}");
    Outcome::new(Class::Uncertain, detail)
}

/// The causes of an error, its own first. `source()` of an I/O error skips the error inside it.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}

fn find<E: Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    causes(error).find_map(|cause| cause.downcast_ref::<E>())
}

/// The text of the innermost cause. The outer ones would show the URL.
fn root(error: &reqwest::Error) -> String {
    let innermost = causes(error).last().filter(|cause| !cause.is::<reqwest::Error>());
    innermost.map_or_else(|| "no cause is known".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    const NOW_US: Micros = 784_111_777_000_000 - 15_500_000;

    #[test]
    fn retry_after_is_read_in_seconds_and_in_all_three_date_forms() {
        for (text, expected) in [
            ("8", Some(8_000)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(15_500)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(15_500)),
            ("Sun Nov  6 08:49:37 1994", Some(15_500)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text.as_bytes(), NOW_US), expected, "{text:?}");
        }
    }

    #[test]
    fn every_status_has_its_class() {
        let called = Url::parse("https://hooks.example.test/in").unwrap();
        let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("8"))]);
        for (class, statuses) in [
            (Class::Accepted, &[200, 201, 202, 204, 299][..]),
            (Class::Refused, &[101, 300, 301, 304, 308, 400, 401, 404, 409, 413, 422, 600]),
            (Class::Gone, &[410]),
            (Class::Failed, &[408, 425, 429, 500, 502, 503, 504, 599]),
        ] {
            for status in statuses {
                let status = StatusCode::from_u16(*status).unwrap();
                let outcome = answered(status, &headers, &called, 0);
                assert_eq!((outcome.class, outcome.status), (class, Some(status.as_u16().into())));
                assert_eq!(outcome.retry_after_ms, Some(8_000));
            }
        }
    }

    #[test]
    fn a_redirect_names_its_target_without_query_and_password() {
        let called = Url::parse("https://hooks.example.test/in").unwrap();
        let detail = |location: &str| {
            let location = HeaderValue::from_str(location).unwrap();
            let headers = HeaderMap::from_iter([(LOCATION, location)]);
            answered(StatusCode::MOVED_PERMANENTLY, &headers, &called, 0).detail
        };
        let expected = "redirect 301 to https://login.test/a";
        assert_eq!(detail("https://me:pw@login.test/a?token=s#f"), expected);
        assert_eq!(detail("/b?c"), "redirect 301 to https://hooks.example.test/b");
        assert!(detail(&format!("/{}", "x".repeat(900))).chars().count() < 220);
        assert_eq!(detail("http://["), "redirect 301 to nowhere that can be read");
    }
}

//! Reads what a request asks for. Unknown and malformed filters are refused: a filter with a
//! typing error must not list, or replay, everything.

use super::answer::Fault;
use actix_web::HttpRequest;
use actix_web::web::{Payload, Query};
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::str::FromStr;

/// Rows of a page, and the most there can be: a page is built in memory.
const LIMIT_DEFAULT: i64 = 50;
const LIMIT_MAX: i64 = 500;

/// Bytes of a request's body: five thousand delivery ids are far below.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What a text with U+0000 is told: PostgreSQL can hold none, so nothing can match it.
const NUL: &str = "the character U+0000 cannot occur here";

/// The query as a struct of texts; an empty text means that it was not given.
pub(super) fn query<T: DeserializeOwned>(request: &HttpRequest) -> Result<T, Fault> {
    let text = request.query_string();
    if text.contains("%00") {
        return Err(Fault::BadRequest(NUL.into()));
    }
    let read = Query::<T>::from_query(text);
    read.map(Query::into_inner).map_err(|error| {
        // What serde says, without the name of the type that it came in.
        let text = error.to_string();
        let text = text.strip_prefix("Query deserialize error: ").unwrap_or(&text);
        Fault::BadRequest(format!("the query: {text}"))
    })
}

/// A value of the query, if it was given.
pub(super) fn optional<T>(name: &str, text: &str) -> Result<Option<T>, Fault>
where
    T: FromStr,
    T::Err: Display,
{
    if text.is_empty() {
        return Ok(None);
    }
    let fault = |error| {
        // The commonest way to lose a `+02:00`.
        let space = text.contains(' ') && !text.contains('+');
        let hint = if space { " (in a URL, \"+\" is written %2B)" } else { "" };
        Fault::BadRequest(format!("{name}: {error}{hint}"))
    };
    text.parse().map(Some).map_err(fault)
}

/// The length of a page.
pub(super) fn limit(text: &str) -> Result<i64, Fault> {
    match optional("limit", text)? {
        None => Ok(LIMIT_DEFAULT),
        Some(limit) if (1..=LIMIT_MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(Fault::BadRequest(format!("limit: must be from 1 to {LIMIT_MAX}"))),
    }
}

/// The JSON body; an empty one stands for `{}`.
pub(super) async fn json<T: DeserializeOwned>(body: Payload) -> Result<T, Fault> {
    let bytes = match body.to_bytes_limited(BODY_BYTES_MAX).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(Fault::BadRequest("the body broke off".into())),
        Err(_) => return Err(Fault::TooLarge(BODY_BYTES_MAX)),
    };
    let bytes: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
    if bytes.windows(6).any(|window| window == br"\u0000") {
        return Err(Fault::BadRequest(NUL.into()));
    }
    serde_json::from_slice(bytes).map_err(|error| Fault::BadRequest(format!("the body: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Time;

    #[test]
    fn a_time_needs_its_zone() {
        let read = |text| optional::<Time>("since", text).map_err(|fault| fault.to_string());
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("1970-01-01T00:00:01Z"), Ok(Some(Time(1_000_000))));
        assert_eq!(read("1970-01-01T02:00:01+02:00"), Ok(Some(Time(1_000_000))));
        let fault = read("2026-03-01T12:00:00").unwrap_err();
        assert!(fault.starts_with("since: ") && fault.contains("zone"), "{fault}");
        assert!(read("2026-03-01T12:00:00 02:00").unwrap_err().ends_with("%2B)"));
        assert!(read("yesterday").is_err());
    }

    #[test]
    fn pages_are_bounded() {
        assert_eq!(limit("").unwrap(), 50);
        assert_eq!(limit("500").unwrap(), 500);
        for text in ["0", "501", "-1", "many", "1e3"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}

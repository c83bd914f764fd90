//! A request as it arrived, and the time it is judged by. Nothing here interprets a body.

use std::borrow::Cow;

use crate::Rejection;
use crate::text::form_field;

/// One header list, in the order received. Names are lower case, values are raw bytes;
/// a repeated header appears once per line.
pub type Headers<'r> = [(&'r str, &'r [u8])];

/// A request as it arrived. `url` is the *configured* public URL with the query as received,
/// never rebuilt from `Host` or `X-Forwarded-*`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The method, upper case.
    pub method: &'r str,
    /// The public URL this source was registered under.
    pub url: &'r str,
    /// All headers.
    pub headers: &'r Headers<'r>,
    /// The body, byte for byte.
    pub body: &'r [u8],
}

impl<'r> Request<'r> {
    /// The value of a header that must appear exactly once and must not be empty.
    pub fn header(&self, name: &'static str) -> Result<&'r [u8], Rejection> {
        match self.header_if_present(name)? {
            None => Err(Rejection::HeaderMissing(name)),
            Some(b"") => Err(Rejection::HeaderEmpty(name)),
            Some(value) => Ok(value),
        }
    }

    /// The value of a header that may be absent, but not be repeated.
    pub fn header_if_present(&self, name: &'static str) -> Result<Option<&'r [u8]>, Rejection> {
        let mut found = None;
        for value in self.header_lines(name) {
            if found.replace(value).is_some() {
                return Err(Rejection::HeaderRepeated(name));
            }
        }
        Ok(found)
    }

    /// Every line of a header, for the few senders that repeat one of theirs.
    pub fn header_lines(&self, name: &'static str) -> impl Iterator<Item = &'r [u8]> {
        self.headers
            .iter()
            .filter(move |(candidate, _)| *candidate == name)
            .map(|(_, value)| *value)
    }

    /// The token of an `Authorization: Bearer` header; the scheme is read in either case.
    pub fn bearer(&self) -> Result<&'r [u8], Rejection> {
        let name = "authorization";
        match self.header(name)?.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => Ok(token),
            _ => Err(Rejection::HeaderMalformed(name, "expected Bearer <token>")),
        }
    }

    /// Path and query of the URL.
    pub fn target(&self) -> &'r str {
        let rest = self.url.split_once("://").map_or(self.url, |(_, rest)| rest);
        rest.find(['/', '?']).map_or("/", |at| &rest[at..])
    }

    /// The first value of a field of the URL's query, decoded.
    pub fn query_field(&self, name: &str) -> Option<Cow<'r, [u8]>> {
        let (_, query) = self.url.split_once('?')?;
        let query = query.split_once('#').map_or(query, |(query, _)| query);
        form_field(query.as_bytes(), name)
    }
}

/// The usual tolerance, in seconds: what a source has unless its operator chooses another.
pub const TOLERANCE_S: i64 = 300;

/// The present moment and how far from it a signed timestamp may lie, both ways.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Seconds since 1970.
    pub now_s: i64,
    /// Seconds of tolerance in both directions.
    pub tolerance_s: i64,
}

impl Window {
    /// The same moment with the narrower tolerance that a sender asks for. One above the usual was
    /// chosen by the operator and stays: late retries may need it.
    pub(crate) fn narrowed(self, tolerance_s: i64) -> Self {
        match self.tolerance_s > TOLERANCE_S {
            true => self,
            false => Self { tolerance_s: self.tolerance_s.min(tolerance_s), ..self },
        }
    }

    /// The same moment with a tolerance of at least so many seconds, for senders that do not sign
    /// their retries anew.
    pub(crate) fn at_least(self, tolerance_s: i64) -> Self {
        Self { tolerance_s: self.tolerance_s.max(tolerance_s), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{TOLERANCE_S, Window};

    #[test]
    fn a_sender_narrows_the_usual_tolerance_and_never_one_that_the_operator_chose() {
        let narrowed = |tolerance_s| Window { now_s: 0, tolerance_s }.narrowed(60).tolerance_s;
        assert_eq!(narrowed(TOLERANCE_S), 60);
        assert_eq!(narrowed(TOLERANCE_S + 1), TOLERANCE_S + 1);
        assert_eq!(narrowed(30), 30);
    }
}

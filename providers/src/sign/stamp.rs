//! Signed times. They are read before the signature is checked and judged after it.

use crate::Rejection;
use crate::text::{Unit, date_us, utc_date_us};

/// A signed time, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp(i64);

impl Stamp {
    /// Reads ASCII digits, at most 20. A number that does not fit lies in the far future.
    pub(crate) fn read(header: &'static str, text: &[u8], unit: Unit) -> Result<Self, Rejection> {
        let fault = Rejection::HeaderMalformed(header, "the time is not a plain number");
        Self::number(text, unit).ok_or(fault)
    }

    /// As [`Self::read`], of a time that stands in a body or a token.
    pub(crate) fn within_proof(text: &[u8], unit: Unit) -> Result<Self, Rejection> {
        let fault = Rejection::ProofMalformed("the time is missing or not a plain number");
        Self::number(text, unit).ok_or(fault)
    }

    fn number(text: &[u8], unit: Unit) -> Option<Self> {
        if text.is_empty() || text.len() > 20 || !text.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let digits = text.iter().map(|digit| i64::from(digit - b'0'));
        let value = digits.fold(0, |sum: i64, digit| sum.saturating_mul(10).saturating_add(digit));
        Some(Self(unit.seconds(value)))
    }

    /// Reads an RFC 3339 time.
    pub(crate) fn date(header: &'static str, text: &[u8]) -> Result<Self, Rejection> {
        let fault = Rejection::HeaderMalformed(header, "the time is not of RFC 3339");
        Self::rfc3339(text).ok_or(fault)
    }

    /// As [`Self::date`], of a time that stands in a body.
    pub(crate) fn date_within_proof(text: &[u8]) -> Result<Self, Rejection> {
        Self::rfc3339(text).ok_or(Rejection::ProofMalformed("the time is not of RFC 3339"))
    }

    fn rfc3339(text: &[u8]) -> Option<Self> {
        let us = std::str::from_utf8(text).ok().and_then(date_us)?;
        Some(Self(us.div_euclid(1_000_000)))
    }

    /// Reads a time of RFC 3339 that may lack its zone and then means UTC.
    pub(crate) fn utc(header: &'static str, text: &[u8]) -> Result<Self, Rejection> {
        let us = std::str::from_utf8(text).ok().and_then(utc_date_us);
        let us = us.ok_or(Rejection::HeaderMalformed(header, "the time is not of ISO 8601"))?;
        Ok(Self(us.div_euclid(1_000_000)))
    }

    pub(super) fn seconds(self) -> i64 {
        self.0
    }
}

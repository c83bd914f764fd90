//! Small readers of text: times as senders write them, media types, form fields. All of them take
//! what anyone may have sent, so none fails loudly: what cannot be read is absent.

use std::borrow::Cow;

use serde::Deserialize;

/// The unit of a time written as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Seconds, possibly with a decimal fraction.
    #[default]
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Millis,
}

impl Unit {
    /// A number of this unit in whole seconds.
    pub(crate) fn seconds(self, value: i64) -> i64 {
        match self {
            Self::Seconds => value,
            Self::Millis => value.div_euclid(1000),
        }
    }
}

/// A time in any of the written forms, as microseconds since 1970. Numbers are of `unit`.
pub fn time_us(text: &str, unit: Unit) -> Option<i64> {
    number_us(text, unit).or_else(|| date_us(text))
}

/// An RFC 3339 time, or GitLab's `2017-09-15 16:50:55 UTC` and `2021-04-28 21:50:00 +0200`, as
/// microseconds since 1970.
pub fn date_us(text: &str) -> Option<i64> {
    // No such time is longer than 35 characters; the bound keeps hostile text from the parser.
    if text.len() > 64 {
        return None;
    }
    let parse = |text: &str| text.parse::<jiff::Timestamp>().ok().map(|at| at.as_microsecond());
    if let Some(at_us) = parse(text) {
        return Some(at_us);
    }
    let (clock, zone) = text.rsplit_once(' ')?;
    let zone = if zone == "UTC" { "Z" } else { zone };
    parse(&format!("{clock}{zone}"))
}

/// As [`date_us`]; a time without a zone is taken for UTC, for senders that mean it so.
pub fn utc_date_us(text: &str) -> Option<i64> {
    date_us(text).or_else(|| date_us(&format!("{text:.64}Z")))
}

/// A time as in e-mails, `Tue, 23 Feb 2021 11:01:27 +0000`, as microseconds since 1970.
pub fn mail_date_us(text: &str) -> Option<i64> {
    let at = (text.len() <= 64).then(|| jiff::fmt::rfc2822::parse(text).ok())??;
    Some(at.timestamp().as_microsecond())
}

/// A number such as `1712345678` or `1712345678.123456` as microseconds since 1970.
///
/// Read as decimal text: a float of this size has lost its last digits. Digits beyond the
/// microsecond are cut.
pub fn number_us(text: &str, unit: Unit) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let places = match unit {
        Unit::Seconds => 6,
        Unit::Millis => 3,
    };
    let fraction: String = fraction.chars().chain("000000".chars()).take(places).collect();
    format!("{whole}{fraction}").parse().ok()
}

/// Whether a `Content-Type` value names this media type: case and parameters do not matter.
pub(crate) fn is_media_type(content_type: &[u8], media_type: &str) -> bool {
    let name = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(media_type.as_bytes())
}

/// The first value of a field of an `application/x-www-form-urlencoded` body, decoded.
///
/// The bytes need not be UTF-8, and a broken escape stands for itself: the body is evidence.
pub fn form_field<'b>(body: &'b [u8], name: &str) -> Option<Cow<'b, [u8]>> {
    form_fields(body).find_map(|(key, value)| (*key == *name.as_bytes()).then_some(value))
}

/// All fields of a form in their order, decoded as by [`form_field`].
pub fn form_fields(body: &[u8]) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let split = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (key, value) = pair.split_at(split);
        (form_decoded(key), form_decoded(value.strip_prefix(b"=").unwrap_or(value)))
    })
}

/// A value as it is written in a form: everything but letters and digits escaped.
pub(crate) fn form_escaped(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len() * 2);
    for byte in value {
        match byte.is_ascii_alphanumeric() {
            true => escaped.push(*byte),
            false => escaped.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    escaped
}

fn form_decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let mut escaped = [0];
        let digits = text.get(at + 1..at + 3).unwrap_or_default();
        match byte {
            b'%' if hex::decode_to_slice(digits, &mut escaped).is_ok() => {
                decoded.push(escaped[0]);
                at += 2;
            }
            b'+' => decoded.push(b' '),
            other => decoded.push(*other),
        }
        at += 1;
    }
    Cow::Owned(decoded)
}

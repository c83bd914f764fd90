//! The kinds of value without parts: text, numbers, flags, addresses, paths, words.
//!
//! A file must use TOML's own types. The environment and the command line have only text, so
//! there, and nowhere else, a number or a flag is read from text. Never expands variables.

use super::read::{Kind, Place};
use crate::source::{OnDead, Order, OrderBy, Statuses};
use ::config::{Value, ValueKind};
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a scalar is written in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As text.
    Text,
    /// As an integer.
    Whole,
    /// As text or as an integer.
    TextOrWhole,
    /// As `true` or `false`.
    Flag,
}

/// A kind of value without parts.
pub(super) trait Scalar: Sized {
    /// How it is written.
    const FORM: Form;
    /// What to say when it is something else.
    const EXPECTED: &'static str;

    /// Reads it from its text.
    fn parse(text: &str) -> Option<Self>;

    /// What the operator sees.
    fn json(&self) -> Json;

    /// Its place among others, if it has limits.
    fn order(&self) -> Option<u128> {
        None
    }
}

impl<T: Scalar> Kind for T {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        // Only what was read from text has an origin: the file is given to `config` without one.
        let from_text = value.origin().is_some();
        let text = match (value.kind, T::FORM) {
            (ValueKind::String(text), Form::Text | Form::TextOrWhole) => Some(text),
            (ValueKind::String(text), _) if from_text => Some(text),
            (ValueKind::I64(number), Form::Whole | Form::TextOrWhole) => Some(number.to_string()),
            (ValueKind::Boolean(flag), Form::Flag) => Some(flag.to_string()),
            _ => None,
        };
        let parsed = text.and_then(|text| T::parse(&text));
        if parsed.is_none() {
            at.fault(format!("expected {}", T::EXPECTED));
        }
        parsed
    }

    fn show(&self) -> Json {
        self.json()
    }

    fn rank(&self) -> Option<u128> {
        self.order()
    }
}

/// A scalar that its `FromStr` reads and that is shown as it is.
macro_rules! scalar {
    ($($kind:ty, $form:expr, $expected:literal, $json:expr, $order:expr;)+) => { $(
        impl Scalar for $kind {
            const FORM: Form = $form;
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn json(&self) -> Json {
                let json: fn(&Self) -> Json = $json;
                json(self)
            }

            fn order(&self) -> Option<u128> {
                let order: fn(&Self) -> Option<u128> = $order;
                order(self)
            }
        }
    )+ };
}

scalar! {
    String, Form::Text, "text", |text| text.as_str().into(), |_| None;
    bool, Form::Flag, "true or false", |flag| (*flag).into(), |_| None;
    usize, Form::Whole, "a whole number", |n| (*n).into(), |n| Some(*n as u128);
    u32, Form::Whole, "a whole number", |n| (*n).into(), |n| Some(u128::from(*n));
    i64, Form::Whole, "a whole number", |n| (*n).into(), |n| u128::try_from(*n).ok().or(Some(0));
    SocketAddr, Form::Text, r#"an address and a port, such as "127.0.0.1:8080""#,
        |address| address.to_string().into(), |_| None;
}

impl Scalar for PathBuf {
    const FORM: Form = Form::Text;
    const EXPECTED: &'static str = "a path";

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty() && !text.contains('\0')).then(|| text.into())
    }

    fn json(&self) -> Json {
        self.display().to_string().into()
    }
}

/// A scalar that is one of a few words, as serde names them.
macro_rules! words {
    ($($kind:ty, $expected:literal;)+) => { $(
        impl Scalar for $kind {
            const FORM: Form = Form::Text;
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                serde_json::from_value(text.into()).ok()
            }

            fn json(&self) -> Json {
                serde_json::to_value(self).unwrap_or_default()
            }
        }
    )+ };
}

words! {
    Order, r#""none", "arrival", "occurred" or "latest""#;
    OnDead, r#""continue" or "halt""#;
    Way, r#""http", "command", "log" or "handler""#;
}

/// The `type` of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// An HTTP endpoint.
    Http,
    /// A program.
    Command,
    /// A line in the log.
    Log,
    /// Code in the process.
    Handler,
}

impl Scalar for OrderBy {
    const FORM: Form = Form::Text;
    const EXPECTED: &'static str =
        "text with one to eight JSON pointers in braces, such as \"{/repository/id}\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn json(&self) -> Json {
        self.text().into()
    }
}

impl Scalar for Statuses {
    const FORM: Form = Form::TextOrWhole;
    const EXPECTED: &'static str = "statuses from 300 to 599, such as 404, \"5xx\" or \"500-504\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn json(&self) -> Json {
        self.to_string().into()
    }
}

/// The URL under which the outside world reaches the service, kept as it was written: schemes
/// that sign the URL sign every character of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(pub String);

impl Scalar for PublicUrl {
    const FORM: Form = Form::Text;
    const EXPECTED: &'static str = "an http or https URL without user name, password and fragment";

    fn parse(text: &str) -> Option<Self> {
        let url = url::Url::parse(text).ok()?;
        let bare = url.username().is_empty() && url.password().is_none();
        let plain = bare && url.fragment().is_none() && text.trim() == text;
        (plain && matches!(url.scheme(), "http" | "https")).then(|| Self(text.to_owned()))
    }

    fn json(&self) -> Json {
        self.0.as_str().into()
    }
}

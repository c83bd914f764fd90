//! The two odd pieces of reading JSON through serde: names that are looked at and not kept, and
//! numbers that keep their digits.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, Unexpected, Visitor};

/// With `arbitrary_precision`, serde_json shows a number that is no 64-bit integer to a visitor as
/// a map of this one member, whose value is an owned string: the digits as written.
pub(super) const NUMBER: &str = "$serde_json::private::Number";

/// The digits of a number. A body's own string is never shown as an owned one, so a member that
/// merely bears the private name is refused.
pub(super) struct Digits;

impl<'b> DeserializeSeed<'b> for Digits {
    type Value = String;

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<String, D::Error> {
        value.deserialize_any(self)
    }
}

impl Visitor<'_> for Digits {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the digits of a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Err(E::invalid_type(Unexpected::Str(text), &self))
    }

    fn visit_string<E>(self, digits: String) -> Result<String, E> {
        Ok(digits)
    }
}

/// Shows the name of a member to a function, without keeping it.
pub(super) struct Name<F>(pub(super) F);

impl<'b, T, F: FnOnce(&str) -> T> DeserializeSeed<'b> for Name<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<T, D::Error> {
        value.deserialize_identifier(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Name<F> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a member's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<T, E> {
        Ok((self.0)(name))
    }
}

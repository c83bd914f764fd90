//! One form for bodies that say the same: members sorted by name, whitespace dropped, strings
//! escaped alike, volatile fields left out, numbers as written (`1.0` is not `1`, and a long
//! integer keeps its digits). Only for comparing two bodies under one key; never stored, never
//! sent, never signed. Written straight out of the parser: no tree of the body is built.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::rest;
use super::seed::{Digits, NUMBER, Name};

/// The canonical form of a body without the fields at `volatile`; `None` if it is not JSON or is
/// nested deeper than 128 levels, which is where the parser stops.
pub fn canonical(body: &[u8], volatile: &[&str]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len());
    let mut json = serde_json::Deserializer::from_slice(body);
    Value { volatile, out: &mut out }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(out)
}

struct Value<'v, 'p> {
    volatile: &'v [&'p str],
    out: &'v mut Vec<u8>,
}

/// Where a member was written, by name: `out` up to the colon, and up to its end.
struct Written {
    name: Range<usize>,
    member: Range<usize>,
}

impl<'p> Value<'_, 'p> {
    fn below(&self, name: &str) -> Vec<&'p str> {
        self.volatile.iter().filter_map(|pointer| rest(pointer, name)).collect()
    }

    fn text<E: Error>(self, text: &str) -> Result<(), E> {
        serde_json::to_writer(self.out, text).map_err(E::custom)
    }

    /// Brings the members written since `start` into order; of equal names the last one stays.
    fn sort(&mut self, start: usize, mut members: Vec<Written>) {
        let written = self.out.split_off(start);
        let name = |member: &Written| &written[member.name.clone()];
        members.sort_by(|one, other| name(one).cmp(name(other)));
        for (index, member) in members.iter().enumerate() {
            if members.get(index + 1).is_some_and(|next| name(next) == name(member)) {
                continue;
            }
            if self.out.len() > start {
                self.out.push(b',');
            }
            self.out.extend_from_slice(&written[member.member.clone()]);
        }
    }
}

impl<'b> DeserializeSeed<'b> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.out.extend_from_slice(value.to_string().as_bytes());
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.out.extend_from_slice(value.to_string().as_bytes());
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.text(text)
    }

    fn visit_map<A: MapAccess<'b>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.out.push(b'{');
        let start = self.out.len();
        let mut written = Vec::new();
        let look = |value: &Self, name: &str| (name.to_owned(), value.below(name));
        while let Some((name, below)) =
            members.next_key_seed(Name(|name: &str| look(&self, name)))?
        {
            if name == NUMBER {
                self.out.truncate(start - 1);
                self.out.extend_from_slice(members.next_value_seed(Digits)?.as_bytes());
                return Ok(());
            }
            if below.contains(&"") {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let begin = self.out.len() - start;
            Value { volatile: &[], out: self.out }.text::<A::Error>(&name)?;
            let colon = self.out.len() - start;
            self.out.push(b':');
            members.next_value_seed(Value { volatile: &below, out: self.out })?;
            written.push(Written { name: begin..colon, member: begin..self.out.len() - start });
        }
        self.sort(start, written);
        self.out.push(b'}');
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut items: A) -> Result<(), A::Error> {
        self.out.push(b'[');
        let start = self.out.len();
        for index in 0_usize.. {
            let volatile = match self.volatile {
                [] => Vec::new(),
                _ => self.below(&index.to_string()),
            };
            let before = self.out.len();
            if before > start {
                self.out.push(b',');
            }
            let item = Value { volatile: &volatile, out: self.out };
            if items.next_element_seed(item)?.is_none() {
                self.out.truncate(before);
                break;
            }
            if volatile.contains(&"") {
                self.out.truncate(before);
            }
        }
        self.out.push(b']');
        Ok(())
    }
}

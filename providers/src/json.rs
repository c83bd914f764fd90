//! Reads single fields out of a JSON body without building it, and brings two bodies into one form
//! for comparison. Text comes back as written: long integers keep their digits, decimals their
//! zeros. What is not wanted is skipped without recursion, so a body of a million brackets costs
//! no stack; what is wanted has a pointer as deep as the recursion.

mod canonical;
mod edit;
mod items;
mod members;
mod seed;
mod tail;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text;
pub use canonical::canonical;
pub(crate) use edit::with_text;
pub use items::{Item, ItemsFault, items};
pub use members::{Member, members};
use seed::{Digits, NUMBER, Name};
pub(crate) use tail::last_member;

/// The body is not one JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is not JSON")]
pub struct NotJson;

/// A field that is a string, a number or a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar<'b> {
    /// A string, unescaped.
    Text(Cow<'b, str>),
    /// A number, `true` or `false`, as written; only an exponent comes back in the form `e+3`.
    Literal(Cow<'b, str>),
}

impl Scalar<'_> {
    /// The text of either.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Literal(text) => text,
        }
    }
}

/// The texts of fields, as they stand.
pub fn texts<'f, const N: usize>(fields: &'f [Option<Scalar<'_>>; N]) -> [Option<&'f str>; N] {
    fields.each_ref().map(|field| field.as_ref().map(Scalar::as_str))
}

/// Segments of a JSON pointer: this bounds the recursion and the work of one configured pointer.
const SEGMENTS_MAX: usize = 32;

/// Says what is wrong with a pointer from a configuration file.
pub fn pointer_fault(pointer: &str) -> Option<&'static str> {
    if !pointer.starts_with('/') {
        return Some("a JSON pointer begins with a slash");
    }
    (pointer.matches('/').count() > SEGMENTS_MAX).then_some("a JSON pointer has at most 32 parts")
}

/// The part of a body that is JSON: a form's `payload` field, else the body as it is.
pub fn view<'b>(content_type: Option<&[u8]>, body: &'b [u8]) -> Cow<'b, [u8]> {
    let is_form = content_type
        .is_some_and(|value| text::is_media_type(value, "application/x-www-form-urlencoded"));
    let payload = if is_form { text::form_field(body, "payload") } else { None };
    payload.unwrap_or(Cow::Borrowed(body))
}

/// Reads the fields at `pointers`, all in one pass. A field that is absent, `null`, an object or
/// an array is `None`. Of a member named twice the last one counts.
pub fn fields<'b, const N: usize>(
    body: &'b [u8],
    pointers: [&str; N],
) -> Result<[Option<Scalar<'b>>; N], NotJson> {
    let mut found = [const { None }; N];
    read(body, pointers.iter().copied(), &mut found)?;
    Ok(found)
}

/// As [`fields`], for pointers that are known at run time only.
pub fn fields_at<'b>(
    body: &'b [u8],
    pointers: &[String],
) -> Result<Vec<Option<Scalar<'b>>>, NotJson> {
    let mut found = vec![None; pointers.len()];
    read(body, pointers.iter().map(String::as_str), &mut found)?;
    Ok(found)
}

fn read<'b, 'p>(
    body: &'b [u8],
    pointers: impl Iterator<Item = &'p str>,
    found: &mut [Option<Scalar<'b>>],
) -> Result<(), NotJson> {
    let wanted: Vec<(usize, &str)> =
        pointers.enumerate().filter(|(_, pointer)| pointer_fault(pointer).is_none()).collect();
    let mut json = serde_json::Deserializer::from_slice(body);
    Node { wanted: &wanted, found }.deserialize(&mut json).map_err(|_| NotJson)?;
    json.end().map_err(|_| NotJson)
}

/// One value on the way to the fields: `wanted` is what remains of each pointer at it. An empty
/// remainder means that the value itself is a field.
struct Node<'w, 'p, 'b> {
    wanted: &'w [(usize, &'p str)],
    found: &'w mut [Option<Scalar<'b>>],
}

impl<'p, 'b> Node<'_, 'p, 'b> {
    fn below(&self, name: &str) -> Vec<(usize, &'p str)> {
        let rest = |(index, pointer): &(usize, &'p str)| Some((*index, rest(pointer, name)?));
        self.wanted.iter().filter_map(rest).collect()
    }

    fn is_field(&self) -> bool {
        self.wanted.iter().any(|(_, pointer)| pointer.is_empty())
    }

    fn take(&mut self, value: &Scalar<'b>) {
        for (index, _) in self.wanted.iter().filter(|(_, pointer)| pointer.is_empty()) {
            self.found[*index] = Some(value.clone());
        }
    }
}

/// What remains of a pointer after the member `name`; `None` if it leads elsewhere.
fn rest<'p>(pointer: &'p str, name: &str) -> Option<&'p str> {
    let pointer = pointer.strip_prefix('/')?;
    let (token, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
    let same = match token.contains('~') {
        true => token.replace("~1", "/").replace("~0", "~") == name,
        false => token == name,
    };
    same.then_some(rest)
}

impl<'b> DeserializeSeed<'b> for Node<'_, '_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<(), D::Error> {
        if self.wanted.is_empty() {
            return value.deserialize_ignored_any(IgnoredAny).map(|_| ());
        }
        for (index, _) in self.wanted {
            self.found[*index] = None;
        }
        value.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for Node<'_, '_, 'b> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.take(&Scalar::Literal(Cow::Borrowed(if value { "true" } else { "false" })));
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.take(&Scalar::Literal(Cow::Owned(value.to_string())));
        Ok(())
    }

    fn visit_i64<E>(mut self, value: i64) -> Result<(), E> {
        self.take(&Scalar::Literal(Cow::Owned(value.to_string())));
        Ok(())
    }

    fn visit_borrowed_str<E>(mut self, text: &'b str) -> Result<(), E> {
        self.take(&Scalar::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.take(&Scalar::Text(Cow::Owned(text.to_owned())));
        Ok(())
    }

    fn visit_map<A: MapAccess<'b>>(mut self, mut members: A) -> Result<(), A::Error> {
        let is_field = self.is_field();
        let look = |node: &Self, name: &str| (is_field && name == NUMBER, node.below(name));
        loop {
            let name = Name(|name: &str| look(&self, name));
            let Some((number, below)) = members.next_key_seed(name)? else {
                return Ok(());
            };
            if number {
                self.take(&Scalar::Literal(Cow::Owned(members.next_value_seed(Digits)?)));
                continue;
            }
            members.next_value_seed(Node { wanted: &below, found: self.found })?;
        }
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut items: A) -> Result<(), A::Error> {
        let index = |(_, pointer): &(usize, &str)| pointer.split('/').nth(1)?.parse().ok();
        let reach = self
            .wanted
            .iter()
            .filter_map(index)
            .max()
            .map_or(0, |last: u32| last.saturating_add(1));
        for index in 0..reach {
            let below = self.below(&index.to_string());
            if items.next_element_seed(Node { wanted: &below, found: self.found })?.is_none() {
                return Ok(());
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

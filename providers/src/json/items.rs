//! The items of an array inside a body, as ranges of its bytes: the events of a batch. One pass,
//! no tree; the items themselves are skipped without recursion.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::rest;
use super::seed::Name;
use crate::Rejection;
use crate::admit::EVENTS_MAX;

/// Why a body has no items to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemsFault {
    /// It is not one JSON document.
    #[error("the body is not JSON")]
    NotJson,
    /// There is no array at the pointer.
    #[error("the body has no array of events where they are due")]
    NoArray,
    /// The array is longer than any sender's.
    #[error("it carries more than 10000 events")]
    TooMany,
}

impl From<ItemsFault> for Rejection {
    fn from(fault: ItemsFault) -> Self {
        Self::Unreadable(match fault {
            ItemsFault::NotJson => "the body is not JSON",
            ItemsFault::NoArray => "the body has no array of events where they are due",
            ItemsFault::TooMany => "it carries more than 10000 events",
        })
    }
}

/// One item of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'b> {
    /// Where it stands in the body.
    pub range: Range<usize>,
    /// Its bytes.
    pub json: &'b [u8],
}

impl<'b> Item<'b> {
    /// The items of an array inside this one; their ranges are of the body, too.
    pub fn items(&self, pointer: &str) -> Result<Vec<Item<'b>>, ItemsFault> {
        let mut found = items(self.json, pointer)?;
        for item in &mut found {
            item.range = item.range.start + self.range.start..item.range.end + self.range.start;
        }
        Ok(found)
    }
}

/// The items of the array at `pointer`, in order; "" is the body itself. Of a member named twice
/// the last one counts.
pub fn items<'b>(body: &'b [u8], pointer: &str) -> Result<Vec<Item<'b>>, ItemsFault> {
    let mut found = Found { body, items: None, too_many: false };
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = At { pointer, found: &mut found }.deserialize(&mut json);
    let read = read.and_then(|()| json.end());
    match (read, found.items) {
        _ if found.too_many => Err(ItemsFault::TooMany),
        (Err(_), _) => Err(ItemsFault::NotJson),
        (Ok(()), None) => Err(ItemsFault::NoArray),
        (Ok(()), Some(items)) => Ok(items),
    }
}

struct Found<'b> {
    body: &'b [u8],
    items: Option<Vec<Item<'b>>>,
    too_many: bool,
}

/// A value on the way to the array: `pointer` is what remains of the way.
struct At<'f, 'p, 'b> {
    pointer: &'p str,
    found: &'f mut Found<'b>,
}

impl<'b> DeserializeSeed<'b> for At<'_, '_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, value: D) -> Result<(), D::Error> {
        self.found.items = None;
        value.deserialize_any(self)
    }
}

impl<'b> Visitor<'b> for At<'_, '_, 'b> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'b>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(below) =
            members.next_key_seed(Name(|name: &str| rest(self.pointer, name)))?
        {
            match below {
                Some(pointer) => members.next_value_seed(At { pointer, found: self.found })?,
                None => members.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut array: A) -> Result<(), A::Error> {
        if !self.pointer.is_empty() {
            while array.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let mut items = Vec::new();
        while let Some(raw) = array.next_element::<&'b RawValue>()? {
            if items.len() == EVENTS_MAX {
                self.found.too_many = true;
                return Err(A::Error::custom("too many"));
            }
            let json = raw.get().as_bytes();
            let start = json.as_ptr().addr() - self.found.body.as_ptr().addr();
            items.push(Item { range: start..start + json.len(), json });
        }
        self.found.items = Some(items);
        Ok(())
    }
}

//! The members of an object, as names and bytes, for senders whose event is named by the member
//! that carries it. One pass, no tree; the values themselves are skipped without recursion.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::NotJson;

/// Members of one object; no sender's event has a tenth of them.
const MEMBERS_MAX: usize = 1_000;

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'b> {
    /// Its name, unescaped.
    pub name: String,
    /// The bytes of its value.
    pub json: &'b [u8],
}

/// The members of an object in their order. Anything else than one object is refused, and so is
/// one of more than 1000 members.
pub fn members(body: &[u8]) -> Result<Vec<Member<'_>>, NotJson> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let members = json.deserialize_map(Object).map_err(|_| NotJson)?;
    json.end().map_err(|_| NotJson)?;
    Ok(members)
}

struct Object;

impl<'b> Visitor<'b> for Object {
    type Value = Vec<Member<'b>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, raw)) = object.next_entry::<String, &'b RawValue>()? {
            if members.len() == MEMBERS_MAX {
                return Err(A::Error::custom("too many"));
            }
            members.push(Member { name, json: raw.get().as_bytes() });
        }
        Ok(members)
    }
}

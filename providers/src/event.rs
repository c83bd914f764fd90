//! Events: what was read out of a proved request, one by one or all of a batch as one.

use std::ops::Range;

use crate::identity;

/// Where an event stands among those about the same entity. Unknown is a value of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// When it happened, in microseconds since 1970, as far as the sender says.
    pub occurred_at_us: Option<i64>,
    /// A number of the sender's that grows with every change of the entity.
    pub sequence: Option<i64>,
}

impl Position {
    /// The position of an event that has a time at most.
    pub(crate) fn at(occurred_at_us: Option<i64>) -> Self {
        Self { occurred_at_us, sequence: None }
    }
}

/// The body of one event out of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These bytes of the request's body.
    Slice(Range<usize>),
    /// Bytes that do not stand in the body as they are: out of a form, or decoded.
    Bytes(Vec<u8>),
}

/// One event out of a proved request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The dedup key: the sender's own id of the delivery, or a digest where it has none.
    pub key: String,
    /// What happened, such as `pull_request.opened`. May be empty when the sender does not say.
    pub kind: String,
    /// What it is about: the lane. `None` means that order does not matter.
    pub entity: Option<String>,
    /// Its place among the events about that entity.
    pub position: Position,
    /// JSON pointers to fields of the event's own body that change between redeliveries.
    pub volatile: &'static [&'static str],
    /// Where in a batch body the event is; `None` when the body is the event.
    pub part: Option<Part>,
}

/// Makes one event of all that a request carries, for sources that do not split batches; `None`
/// of an empty list. A single event keeps its key. Several are known by a digest of their keys,
/// sorted, so that the order inside the request does not matter.
pub fn whole(mut events: Vec<Event>) -> Option<Event> {
    if events.len() < 2 {
        return events.pop().map(|only| Event { part: None, ..only });
    }
    let mut keys: Vec<&[u8]> = events.iter().map(|event| event.key.as_bytes()).collect();
    keys.sort_unstable();
    let key = identity::digest(&keys);
    let first = events.first()?;
    let same_kind = events.iter().all(|event| event.kind == first.kind);
    let same_entity = events.iter().all(|event| event.entity == first.entity);
    let kind = if same_kind { first.kind.clone() } else { "batch".to_owned() };
    let entity = first.entity.clone().filter(|_| same_entity);
    Some(Event { key, kind, entity, position: Position::default(), volatile: &[], part: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: &str, kind: &str, entity: Option<&str>) -> Event {
        let (key, kind, entity) = (key.to_owned(), kind.to_owned(), entity.map(str::to_owned));
        let part = Some(Part::Slice(0..2));
        Event { key, kind, entity, position: Position::at(Some(1)), volatile: &["/n"], part }
    }

    #[test]
    fn a_whole_keeps_what_its_events_have_in_common() {
        let (a, b) = (event("a", "x", Some("e")), event("b", "x", Some("e")));
        assert_eq!(whole(Vec::new()), None);
        let one = whole(vec![a.clone()]).unwrap();
        assert_eq!((one.key.as_str(), one.part, one.volatile), ("a", None, &["/n"][..]));
        let both = whole(vec![a.clone(), b.clone()]).unwrap();
        assert_eq!((both.kind.as_str(), both.entity.as_deref()), ("x", Some("e")));
        assert_eq!((both.part, both.position), (None, Position::default()));
        assert_eq!(whole(vec![b.clone(), a.clone()]).unwrap().key, both.key);
        let other = whole(vec![a, event("c", "y", None), b]).unwrap();
        assert_eq!((other.kind.as_str(), other.entity), ("batch", None));
        assert_ne!(other.key, both.key);
    }
}

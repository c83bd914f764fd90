//! What the senders of batches share: the wrapping that lets one item travel without the others,
//! and its bounds.

use crate::admit::EVENTS_MAX;
use crate::json::{ItemsFault, Scalar};
use crate::{Event, Part, Rejection};

/// Parts that repeat the sender's own form around one item each. An only event keeps the body as
/// it came, which has that form already.
pub(crate) fn unless_alone(mut events: Vec<Event>) -> Vec<Event> {
    if let [only] = &mut events[..] {
        only.part = None;
    }
    events
}

/// Bytes of a form that is repeated around every item; the senders' own have less than 200.
const FORM_BYTES_MAX: usize = 1_024;

/// The part of an item inside the sender's own form.
pub(crate) fn wrapped(before: &str, item: &[u8], after: &str) -> Result<Option<Part>, Rejection> {
    if before.len() + after.len() > FORM_BYTES_MAX {
        return Err(Rejection::Unreadable("what stands around its events is too long"));
    }
    Ok(Some(Part::Bytes([before.as_bytes(), item, after.as_bytes()].concat())))
}

/// Refuses a body whose lists hold too many events together, before more of them are read.
pub(crate) fn bounded(events: &[Event]) -> Result<(), Rejection> {
    match events.len() {
        0..=EVENTS_MAX => Ok(()),
        _ => Err(ItemsFault::TooMany.into()),
    }
}

/// A field as JSON again; `null` where it is absent.
pub(crate) fn written(field: Option<&Scalar<'_>>) -> String {
    match field {
        Some(Scalar::Text(text)) => quoted(text),
        Some(Scalar::Literal(literal)) => literal.to_string(),
        None => "null".to_owned(),
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

//! The message of a push: wrapped in JSON, or unwrapped with its metadata in headers.

use crate::text::{Unit, time_us};
use crate::{Event, Facts, Position, Proved, Rejection, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Google Cloud Pub/Sub",
    proof: "RS256 token of the service account, key by id",
    key: "`/message/messageId`",
    entity: "`/message/orderingKey`, else the object in its attributes",
    position: "`/message/publishTime`",
};

/// Of the message, then what attributes may say of kind and subject.
#[rustfmt::skip]
const FIELDS: [&str; 8] = [
    "/message/messageId", "/message/publishTime", "/message/orderingKey",
    "/message/attributes/objectId", "/message/attributes/ce-subject",
    "/message/attributes/eventType", "/message/attributes/ce-type", "/message/attributes/type",
];

/// The key is the message's id, unique in its topic and kept over redeliveries. The attempts are
/// counted in the body.
pub(super) fn event(proved: &Proved<'_>) -> Result<Event, Rejection> {
    let request = proved.request();
    let header = |name| Some(identity::header_text(request, name)).filter(|text| !text.is_empty());
    let unwrapped = request.header_if_present("x-goog-pubsub-message-id") != Ok(None);
    let fields = match unwrapped {
        true => Default::default(),
        false => json::fields(request.body, FIELDS)?,
    };
    let [id, at, order, object, subject, kinds @ ..] = json::texts(&fields);
    let key = match unwrapped {
        true => identity::header_key(request, "x-goog-pubsub-message-id")?,
        false => identity::key(id.unwrap_or_default().as_bytes())?,
    };
    let at = at.map(str::to_owned).or_else(|| header("x-goog-pubsub-publish-time"));
    let order = order.or(object).or(subject).map(str::to_owned);
    let order = order.or_else(|| header("x-goog-pubsub-ordering-key"));
    Ok(Event {
        key,
        kind: identity::kind(&[kinds.into_iter().flatten().next().unwrap_or_default()]),
        entity: identity::entity(&[order.as_deref()]),
        position: Position::at(at.and_then(|at| time_us(&at, Unit::Millis))),
        volatile: &["/deliveryAttempt"],
        part: None,
    })
}

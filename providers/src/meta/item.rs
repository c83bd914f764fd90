//! One change or message out of an entry.

use crate::json::{self, Item};
use crate::text::{Unit, time_us};
use crate::{Event, Position, Rejection, batch, identity};

/// The lists of an entry whose items are events. `standby` shows what another app handles.
pub(super) const LISTS: [&str; 3] = ["changes", "messaging", "standby"];

/// The one message, what else is there beside it, the parties, the thing, and times.
#[rustfmt::skip]
const FIELDS: [&str; 23] = [
    "/field", "/value/messages/0/id", "/message/mid",
    "/value/messages/1/id", "/value/statuses/0/id", "/message/is_deleted", "/message/is_echo",
    "/value/metadata/phone_number_id", "/sender/id", "/recipient/id",
    "/value/messages/0/from", "/value/statuses/0/recipient_id", "/value/contacts/0/wa_id",
    "/value/post_id", "/value/media/id", "/value/leadgen_id", "/value/message_template_id",
    "/value/id",
    "/value/messages/0/timestamp", "/value/statuses/0/timestamp", "/timestamp",
    "/value/created_time", "/value/timestamp",
];

/// Times are seconds in some products and milliseconds in others.
fn moment(text: &str) -> Option<i64> {
    time_us(text, if text.len() < 12 { Unit::Seconds } else { Unit::Millis })
}

/// Reads the items of one list of an entry of an object, such as `page`.
pub(super) fn read(
    object: &str,
    entry: &Item<'_>,
    list: &str,
    items: &[Item<'_>],
) -> Result<Vec<Event>, Rejection> {
    let of_entry = json::fields(entry.json, ["/id", "/time"])?;
    let [page, time] = json::texts(&of_entry);
    let at = of_entry[1].as_ref().map(|at| format!(r#""time":{},"#, batch::written(Some(at))));
    let (named, id) = (batch::quoted(object), batch::written(of_entry[0].as_ref()));
    let at = at.unwrap_or_default();
    let before = format!(r#"{{"object":{named},"entry":[{{"id":{id},{at}"{list}":["#);
    let place = [object, page.unwrap_or_default(), list];
    let event = |item: &Item<'_>| {
        let fields = json::fields(item.json, FIELDS)?;
        let texts = json::texts(&fields);
        let (ids, rest) = texts.split_at(7);
        let (parties, rest) = rest.split_at(3);
        let (things, times) = rest.split_at(8);
        let own_time = times.iter().flatten().find_map(|at| moment(at));
        let (account, other) = lane(page, parties, things);
        Ok(Event {
            key: key(ids, place, time.filter(|_| own_time.is_none()), item.json)?,
            kind: match ids[0] {
                Some(field) => identity::kind(&[object, field]),
                None => message_kind(object, list, item.json),
            },
            entity: identity::entity(&[account, other]).or(identity::entity(&[account])),
            position: Position::at(own_time.or(time.and_then(moment))),
            volatile: &["/entry/0/time"],
            part: batch::wrapped(&before, item.json, "]}]}")?,
        })
    };
    items.iter().map(event).collect()
}

/// An arriving message is known by its own id. Deletions and echoes repeat the id of theirs, and
/// statuses that of the message sent: there a digest of the change is the key, as for all else.
/// A change without a time of its own may come again and mean another one, as a status that is
/// paused and resumed; the time of its entry then tells the two apart.
fn key(
    ids: &[Option<&str>],
    [object, page, list]: [&str; 3],
    time: Option<&str>,
    item: &[u8],
) -> Result<String, Rejection> {
    let (message, others) = ids.get(1..3).zip(ids.get(3..)).unwrap_or_default();
    let arrives = list != "standby" && others.iter().all(Option::is_none);
    if let Some(id) = message.iter().flatten().find(|_| arrives) {
        return identity::key(id.as_bytes());
    }
    Ok(identity::content_digest(&[object, page, list, time.unwrap_or_default()], item, &[]))
}

/// The account of ours, and whom or what the event is about: of the two ends of a message, the
/// one that is not the page.
fn lane<'f>(
    page: Option<&'f str>,
    parties: &[Option<&'f str>],
    things: &[Option<&'f str>],
) -> (Option<&'f str>, Option<&'f str>) {
    let (phone, ends) = parties.split_first().unwrap_or((&None, &[]));
    let end = ends.iter().flatten().find(|end| Some(**end) != page);
    let thing = things.iter().flatten().next();
    (phone.or(page), end.or(thing).copied())
}

/// A message is named after the member that carries it, such as `postback` or `read`.
fn message_kind(object: &str, list: &str, item: &[u8]) -> String {
    let members = json::members(item).unwrap_or_default();
    let frame = ["sender", "recipient", "timestamp"];
    let name = members.iter().find(|member| !frame.contains(&member.name.as_str()));
    let standby = if list == "standby" { list } else { "" };
    identity::kind(&[object, standby, name.map_or(list, |member| member.name.as_str())])
}

/// An entry that only names the fields that changed.
pub(super) fn bare(object: &str, entry: &Item<'_>) -> Result<Event, Rejection> {
    let fields = json::fields(entry.json, ["/id", "/time"]).unwrap_or_default();
    let [id, time] = json::texts(&fields);
    let before = format!(r#"{{"object":{},"entry":["#, batch::quoted(object));
    Ok(Event {
        key: identity::content_digest(&[object], entry.json, &[]),
        kind: identity::kind(&[object]),
        entity: identity::entity(&[id]),
        position: Position::at(time.and_then(moment)),
        volatile: &[],
        part: batch::wrapped(&before, entry.json, "]}")?,
    })
}

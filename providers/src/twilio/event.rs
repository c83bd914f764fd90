//! What Twilio's requests are about: the fields of a form, or CloudEvents of an event stream.

use std::borrow::Cow;

use super::signed_fields;
use crate::text::{Unit, form_field, mail_date_us, time_us};
use crate::{Event, Facts, Part, Position, Proved, Rejection, Request, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Twilio",
    proof: "HMAC-SHA1 base64 over URL and form; JSON by its digest in the URL",
    key: "`I-Twilio-Idempotency-Token`, else a digest; streams: `/id`",
    entity: "`CallSid`, `MessageSid`; streams: `/subject`",
    position: "`SequenceNumber` and `Timestamp` of calls; streams: `/time`",
};

/// The key is the idempotency token, kept over retries. Where Twilio sends none, it is a digest of
/// all fields: sid and status alone would merge the many requests of one call.
pub(super) fn form_event(request: &Request<'_>) -> Result<Vec<Event>, Rejection> {
    let field = |name: &str| {
        let value = form_field(request.body, name).or_else(|| request.query_field(name));
        value
            .filter(|value| !value.is_empty())
            .map(|value| String::from_utf8_lossy(&value).into_owned())
    };
    let query = request.url.split_once('?').filter(|_| request.method == "GET");
    let query = query.map(|(_, query)| query.as_bytes());
    let key = match request.header_if_present("i-twilio-idempotency-token") {
        Ok(None) => {
            let fields = signed_fields(request.body);
            let parts: Vec<&[u8]> = fields.iter().map(Cow::as_ref).collect();
            identity::digest(&[&[request.url.as_bytes()], &parts[..]].concat())
        }
        _ => identity::header_key(request, "i-twilio-idempotency-token")?,
    };
    let named = |about: &str, names: [&str; 2]| {
        let status = names.into_iter().find_map(field)?;
        Some(format!("{about}.{status}"))
    };
    let kind = field("EventType")
        .or_else(|| named("message", ["MessageStatus", "SmsStatus"]))
        .or_else(|| named("call", ["CallStatus", "StatusCallbackEvent"]));
    let entity = ["CallSid", "MessageSid", "SmsSid", "ConferenceSid", "RoomSid", "AccountSid"];
    let entity = entity.into_iter().find_map(field);
    let position = Position {
        occurred_at_us: field("Timestamp").and_then(|at| mail_date_us(&at)),
        sequence: field("SequenceNumber").and_then(|number| number.parse().ok()),
    };
    Ok(vec![Event {
        key,
        kind: identity::kind(&[&kind.unwrap_or_default()]),
        entity: identity::entity(&[entity.as_deref()]),
        position,
        volatile: &[],
        // The body of a GET is empty, and its query is not kept.
        part: query.map(|query| Part::Bytes(query.into())),
    }])
}

/// Event Streams send arrays of CloudEvents, whose ids Twilio makes unique.
pub(super) fn stream_events(proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
    let body = proved.body();
    let whole = json::Item { range: 0..body.len(), json: body };
    let is_batch = body.trim_ascii_start().starts_with(b"[");
    let items = if is_batch { json::items(body, "")? } else { vec![whole] };
    let event = |item: json::Item<'_>| {
        let pointers = ["/id", "/type", "/subject", "/time", "/data/messageSid", "/data/callSid"];
        let fields = json::fields(item.json, pointers)?;
        let [id, kind, subject, time, message, call] = json::texts(&fields);
        let key = match id {
            Some(id) => identity::key(id.as_bytes())?,
            None => identity::digest(&[item.json]),
        };
        Ok(Event {
            key,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[subject.or(message).or(call)]),
            position: Position::at(time.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: is_batch.then_some(Part::Slice(item.range)),
        })
    };
    items.into_iter().map(event).collect()
}

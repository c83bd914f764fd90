//! What X reports: lists named after what happened, each item of which is an event.

use crate::json::{self, Member};
use crate::text::{Unit, time_us};
use crate::{Event, Position, Rejection, batch, identity};

/// Reads the items of every list. A request without a list, such as `user_event`, is one event
/// named after its first object.
pub(super) fn events(body: &[u8]) -> Result<Vec<Event>, Rejection> {
    let members = json::members(body)?;
    let user = json::fields(body, ["/for_user_id"])?;
    let [user] = json::texts(&user);
    let begins = |member: &Member<'_>, byte: u8| member.json.first() == Some(&byte);
    let mut events = Vec::new();
    for list in members.iter().filter(|member| begins(member, b'[')) {
        let before = before(&members, &list.name);
        for item in json::items(list.json, "").unwrap_or_default() {
            let part = batch::wrapped(&before, item.json, "]}")?;
            events.push(Event { part, ..event(user, &list.name, item.json)? });
        }
        batch::bounded(&events)?;
    }
    if events.is_empty() && !members.iter().any(|member| begins(member, b'[')) {
        let object = members.iter().find(|member| begins(member, b'{'));
        let object = object.ok_or(Rejection::Unreadable("the body reports no activity"))?;
        events.push(event(user, &object.name, object.json)?);
    }
    Ok(batch::unless_alone(events))
}

/// The key has the user and the list in it: one post reaches every subscribed user it concerns,
/// and is liked and deleted under the same id. Follows, typing and the like have no id; a digest
/// of the item stands for it.
fn event(user: Option<&str>, list: &str, item: &[u8]) -> Result<Event, Rejection> {
    let pointers = ["/id_str", "/id", "/status/id", "/timestamp_ms", "/created_timestamp"];
    let fields = json::fields(item, pointers).unwrap_or_default();
    let [id_str, id, deleted, at, created] = json::texts(&fields);
    let owner = user.unwrap_or_default();
    let key = match id_str.or(id).or(deleted) {
        Some(id) => identity::key(format!("{owner}/{list}/{id}").as_bytes())?,
        None => identity::content_digest(&[owner, list], item, &[]),
    };
    Ok(Event {
        key,
        kind: identity::kind(&[list]),
        entity: identity::entity(&[user]),
        position: Position::at(at.or(created).and_then(|at| time_us(at, Unit::Millis))),
        volatile: &[],
        part: None,
    })
}

/// What stands before one item of a list when it travels alone: the plain members of the body,
/// which say whose event it is, and the list's own name.
fn before(members: &[Member<'_>], list: &str) -> String {
    let mut before = "{".to_owned();
    for member in members.iter().filter(|member| !matches!(member.json, [b'{' | b'[', ..])) {
        let value = String::from_utf8_lossy(member.json);
        before.push_str(&format!("{}:{value},", batch::quoted(&member.name)));
    }
    before.push_str(&format!("{}:[", batch::quoted(list)));
    before
}

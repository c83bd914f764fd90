//! Recurly's older notifications: an XML document whose root names the event. Nothing is parsed:
//! one name and one code are found, and all else is left to the destination.

use crate::{Event, Position, Rejection, identity};

/// Bytes in which both stand; the account leads every notification.
const HEAD_BYTES: usize = 4_096;

/// The event of an XML body.
pub(super) fn event(key: String, body: &[u8]) -> Result<Vec<Event>, Rejection> {
    let head = String::from_utf8_lossy(body.get(..HEAD_BYTES).unwrap_or(body));
    let root = head
        .split('<')
        .skip(1)
        .find(|tag| !tag.starts_with(['?', '!']))
        .map(|tag| tag.split(['>', ' ', '/', '\n', '\r', '\t']).next().unwrap_or_default())
        .filter(|name| !name.is_empty())
        .ok_or(Rejection::Unreadable("the body is neither JSON nor XML"))?;
    let code = head.split_once("<account_code>").and_then(|(_, rest)| rest.split_once('<'));
    let account = code.map(|(code, _)| format!("account:{code}"));
    Ok(vec![Event {
        key,
        kind: identity::kind(&[root]),
        entity: identity::entity(&[account.as_deref()]),
        position: Position::default(),
        volatile: &[],
        part: None,
    }])
}

//! Slash commands: a plain form, never retried, answered to the person who typed it.

use crate::text::form_field;
use crate::{Event, Position, Rejection, identity};

/// A slash command: its kind is the command itself, its key the trigger, new for each call.
pub(super) fn slash_command(body: &[u8]) -> Result<Vec<Event>, Rejection> {
    let field = |name: &str| {
        form_field(body, name).map(|value| String::from_utf8_lossy(&value).into_owned())
    };
    let command = field("command").ok_or(Rejection::Unreadable("the form is not a command"))?;
    let key = match field("trigger_id") {
        Some(trigger) => identity::key(trigger.as_bytes())?,
        None => identity::digest(&[body]),
    };
    let (team, channel) = (field("team_id"), field("channel_id"));
    Ok(vec![Event {
        key,
        kind: identity::kind(&[&command]),
        entity: identity::entity(&[team.as_deref(), channel.as_deref()]),
        position: Position::default(),
        volatile: &[],
        part: None,
    }])
}

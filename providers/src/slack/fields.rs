//! Where the parts of Slack's JSON stand.

use crate::Facts;

pub(super) const FACTS: Facts = Facts {
    title: "Slack",
    proof: "HMAC-SHA256 hex over time and body",
    key: "`/event_id`, `trigger_id`, else a digest",
    entity: "team and channel",
    position: "`/event/event_ts`",
};

/// Ids and kind, then where it happened (the channel first), then when.
#[rustfmt::skip]
pub(super) const FIELDS: [&str; 18] = [
    "/event_id", "/trigger_id", "/type", "/event/type", "/event/subtype", "/team_id", "/team/id",
    "/event/channel", "/event/channel/id", "/event/item/channel", "/channel/id",
    "/container/channel_id", "/view/id", "/event/user",
    "/event/event_ts", "/event_time", "/actions/0/action_ts", "/action_ts",
];

//! What Twitch's events are about, and where it stands.

use crate::Facts;

pub(super) const FACTS: Facts = Facts {
    title: "Twitch",
    proof: "HMAC-SHA256 hex over id, time and body",
    key: "`Twitch-Eventsub-Message-Id`",
    entity: "broadcaster, else what the condition names",
    position: "`Twitch-Eventsub-Message-Timestamp`",
};

/// Who or what a subscription watches: the lane, the broadcaster first.
pub(super) const CONDITION: [&str; 7] = [
    "/subscription/condition/broadcaster_user_id",
    "/subscription/condition/to_broadcaster_user_id",
    "/subscription/condition/from_broadcaster_user_id",
    "/subscription/condition/user_id",
    "/subscription/condition/organization_id",
    "/subscription/condition/client_id",
    "/subscription/condition/extension_client_id",
];

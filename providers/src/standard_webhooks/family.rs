//! The senders that speak Standard Webhooks, and how their bodies differ. A new adopter is one
//! more constant here, its name in `ALL` and a file of vectors.

use super::{SVIX_TRIO, Trio, WEBHOOK};
use crate::text::Unit;
use crate::{Facts, Rejection, Request};

/// One sender of the family.
pub(crate) struct StandardWebhooks {
    pub(super) name: &'static str,
    pub(super) facts: Facts,
    /// The headers it may use, its own first.
    pub(super) trios: &'static [&'static Trio],
    /// Whether its secrets are shown with `v1,` before them.
    pub(super) prefix_v1: bool,
    /// Where the id of the thing an event is about stands.
    pub(super) entity: &'static str,
    /// Where the event's time may stand, the better one first.
    pub(super) times: [&'static str; 2],
    pub(super) unit: Unit,
    pub(super) horizon_days: u32,
    pub(super) answer_deadline_ms: Option<u32>,
}

impl StandardWebhooks {
    /// The trio a request carries; where there is none, the missing header is this sender's own.
    pub(super) fn trio(&self, request: &Request<'_>) -> Result<&'static Trio, Rejection> {
        for trio in self.trios {
            if request.header_if_present(trio.signature)?.is_some() {
                return Ok(trio);
            }
        }
        Err(Rejection::HeaderMissing(self.trios[0].signature))
    }
}

/// Any sender that keeps to the specification. Its example schedule ends after 75 hours.
pub(crate) const STANDARD_WEBHOOKS: StandardWebhooks = StandardWebhooks {
    name: "standard_webhooks",
    facts: Facts {
        title: "Standard Webhooks",
        proof: "`v1` HMAC or `v1a` Ed25519 over id, time and body",
        key: "`webhook-id`",
        entity: "`/data/id`",
        position: "`/timestamp`",
    },
    trios: &[&WEBHOOK, &SVIX_TRIO],
    prefix_v1: false,
    entity: "/data/id",
    times: ["/timestamp", ""],
    unit: Unit::Seconds,
    horizon_days: 35,
    // The specification advises senders to wait for 15 to 30 seconds; Svix waits for 15.
    answer_deadline_ms: Some(15_000),
};

/// Any sender behind Svix, whose portal replays messages for as long as they are kept: 90 days.
pub(crate) const SVIX: StandardWebhooks = StandardWebhooks {
    name: "svix",
    facts: Facts {
        title: "Svix",
        proof: "Svix or `webhook-` headers",
        key: "`svix-id`",
        entity: "`/data/id`",
        position: "`/timestamp`",
    },
    trios: &[&SVIX_TRIO, &WEBHOOK],
    horizon_days: 90,
    ..STANDARD_WEBHOOKS
};

/// Clerk, behind Svix: the user's own `updated_at` orders better than the time of the message.
pub(crate) const CLERK: StandardWebhooks = StandardWebhooks {
    name: "clerk",
    facts: Facts {
        title: "Clerk",
        proof: "Svix headers",
        key: "`svix-id`",
        entity: "`/data/id`",
        position: "`/data/updated_at`, `/timestamp` (ms)",
    },
    times: ["/data/updated_at", "/timestamp"],
    unit: Unit::Millis,
    ..SVIX
};

/// Resend, behind Svix: events are about an e-mail.
pub(crate) const RESEND: StandardWebhooks = StandardWebhooks {
    name: "resend",
    facts: Facts {
        title: "Resend",
        proof: "Svix headers",
        key: "`svix-id`",
        entity: "`/data/email_id`",
        position: "`/created_at`",
    },
    entity: "/data/email_id",
    times: ["/created_at", ""],
    ..SVIX
};

/// OpenAI, retrying for up to 72 hours.
pub(crate) const OPENAI: StandardWebhooks = StandardWebhooks {
    name: "openai",
    facts: Facts {
        title: "OpenAI",
        proof: "Standard Webhooks",
        key: "`webhook-id`",
        entity: "`/data/id`",
        position: "`/created_at`",
    },
    trios: &[&WEBHOOK],
    times: ["/created_at", ""],
    horizon_days: 7,
    answer_deadline_ms: None,
    ..STANDARD_WEBHOOKS
};

/// Auth hooks of Supabase, about a user and with no time of their own.
pub(crate) const SUPABASE_AUTH: StandardWebhooks = StandardWebhooks {
    name: "supabase_auth",
    facts: Facts {
        title: "Supabase Auth",
        proof: "Standard Webhooks, `v1,whsec_` secrets",
        key: "`webhook-id`",
        entity: "`/user/id`",
        position: "unknown",
    },
    trios: &[&WEBHOOK],
    prefix_v1: true,
    entity: "/user/id",
    times: ["", ""],
    horizon_days: 7,
    answer_deadline_ms: Some(5_000),
    ..STANDARD_WEBHOOKS
};

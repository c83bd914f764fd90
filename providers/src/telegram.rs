//! Telegram bots: the `secret_token` given to `setWebhook`, in a header, which proves the sender
//! and not the content.
//!
//! Source: core.telegram.org/bots/api, "setWebhook" and "Update".

use crate::sign::{self, Coverage};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Updates of a Telegram bot.
pub(crate) struct Telegram;

const TOKEN: &str = "x-telegram-bot-api-secret-token";

/// Where the conversation stands in an update: a chat, else the person or poll it is about.
#[rustfmt::skip]
const FIELDS: [&str; 7] = [
    "/chat/id", "/message/chat/id", "/from/id", "/user/id", "/poll_id", "/id", "/date",
];

impl Provider for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Telegram bots",
            proof: "token in `X-Telegram-Bot-Api-Secret-Token`",
            key: "`/update_id`",
            entity: "chat, else person or poll",
            position: "`/update_id`; `date` of the update (1 s)",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Updates are kept for a day. After a week without any the ids begin anew at random, so a
        // key must not live that long.
        3
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let text = secret.expose();
        let good = text.len() <= 256 && text.bytes().all(plain);
        (!good).then(|| "is not of up to 256 letters, digits, _ and -".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        sign::prove_token(request, secret.expose().as_bytes(), request.header(TOKEN)?)
    }

    /// The key is the update's own number, which also gives the order, but for a jump after a week
    /// without updates. What the update is called is the one member beside it.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let body = proved.body();
        let number = json::fields(body, ["/update_id"])?;
        let [number] = json::texts(&number);
        let members = json::members(body)?;
        let update = members.iter().find(|member| member.name != "update_id");
        let (kind, json) = update.map_or(("", &b"{}"[..]), |update| (&update.name, update.json));
        let fields = json::fields(json, FIELDS)?;
        let [chat, message_chat, from, user, poll, id, at] = json::texts(&fields);
        let person = from.or(user).map(|id| format!("user:{id}"));
        let chat = chat.or(message_chat).map(|id| format!("chat:{id}"));
        let other = poll.or(id).map(|id| format!("{kind}:{id}"));
        Ok(vec![Event {
            key: identity::key(number.unwrap_or_default().as_bytes())?,
            kind: identity::kind(&[kind]),
            entity: identity::entity(&[chat.or(person).or(other).as_deref()]),
            position: Position {
                occurred_at_us: at.and_then(|at| time_us(at, Unit::Seconds)),
                sequence: number.and_then(|number| number.parse().ok()),
            },
            volatile: &[],
            part: None,
        }])
    }

    /// An update has a number and no other id: a key that is none becomes one.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let mixed = |sum: u32, byte: u8| sum.wrapping_mul(31).wrapping_add(u32::from(byte));
        let number: u32 = draft.key.parse().unwrap_or(draft.key.bytes().fold(7, mixed));
        let sample = || {
            let message = serde_json::json!({ "message_id": 1365, "date": draft.now_s,
                "chat": { "id": 1_111_111, "type": "private" }, "text": "/start" });
            example::written(serde_json::json!({ "update_id": number, draft.kind: message }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Telegram-Bot-Api-Secret-Token", secret.expose()),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

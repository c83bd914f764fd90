//! Postmark: HTTP Basic authentication out of the URL that was registered, which proves the sender
//! and not the content. Postmark signs nothing.
//!
//! Source: postmarkapp.com/developer/webhooks; sanitised events of anymail/django-anymail.

use crate::sign::{self, Coverage};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Message streams of a Postmark server, outbound and inbound.
pub(crate) struct Postmark;

#[rustfmt::skip]
const FIELDS: [&str; 9] = [
    "/RecordType", "/MessageID", "/ID", "/Recipient", "/Email",
    "/DeliveredAt", "/BouncedAt", "/ReceivedAt", "/ChangedAt",
];

impl Provider for Postmark {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Postmark",
            proof: "HTTP Basic",
            key: "a digest of type, message, id, recipient and time",
            entity: "`/MessageID`",
            position: "`DeliveredAt`, `BouncedAt`, `ReceivedAt` ...",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn body_bytes_max(&self) -> usize {
        // Inbound messages have up to 35 MB, their attachments in base64.
        50 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Ten retries over ten hours and a half; an inbound message can be retried by hand later.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(120_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        sign::basic_fault(secret)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        sign::prove_basic(request, secret)
    }

    /// There is no id of the event: one message is delivered, opened and clicked many times. Type,
    /// message, recipient and time (100 ns) are one event together; of a bounce also `/ID`. An
    /// inbound message, without type and time, is one event by itself. What lacks a time
    /// otherwise is known by all it says.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), FIELDS)?;
        let [kind, message, id, recipient, email, times @ ..] = json::texts(&fields);
        let message = message.ok_or(Rejection::Unreadable("the body has no MessageID"))?;
        let at = times.into_iter().flatten().next();
        let inbound = matches!(kind, None | Some("Inbound"));
        let key = match at {
            None if !inbound => identity::content_digest(&[], proved.body(), &[]),
            _ => {
                let recipient = recipient.or(email).filter(|_| !inbound);
                let parts = [kind, Some(message), id, recipient, at];
                identity::digest(&parts.map(|part| part.unwrap_or_default().as_bytes()))
            }
        };
        Ok(vec![Event {
            key,
            kind: identity::kind(&[kind.unwrap_or("Inbound")]),
            entity: identity::entity(&[Some(message)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let at = match draft.kind {
                "Delivery" => "DeliveredAt",
                "Bounce" | "SpamComplaint" => "BouncedAt",
                "SubscriptionChange" => "ChangedAt",
                _ => "ReceivedAt",
            };
            example::written(serde_json::json!({ "RecordType": draft.kind, "ServerID": 23,
                "MessageStream": "outbound", "MessageID": draft.key,
                "Recipient": "reader@example.com", at: example::date(draft.now_s) }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let basic = sign::basic(secret);
        let headers = [("Content-Type", "application/json"), ("Authorization", &basic)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! A message of SNS: its fields, which of them are signed and how, and the event in it.

use crate::json::{self, Scalar};
use crate::text::{Unit, time_us};
use crate::{Event, Facts, Position, Rejection, identity};

pub(super) const FACTS: Facts = Facts {
    title: "Amazon SNS",
    proof: "RSA over fields of the body, key by URL; the secret is the topic's ARN",
    key: "`/MessageId`",
    entity: "`/TopicArn`",
    position: "`/Timestamp`",
};

/// The fields, by their place in [`NAMES`].
#[derive(Clone, Copy)]
pub(super) enum Field {
    Type,
    MessageId,
    TopicArn,
    Message,
    Subject,
    Timestamp,
    SubscribeUrl,
    Token,
    SignatureVersion,
    Signature,
    SigningCertUrl,
}

#[rustfmt::skip]
const NAMES: [&str; 11] = [
    "/Type", "/MessageId", "/TopicArn", "/Message", "/Subject", "/Timestamp", "/SubscribeURL",
    "/Token", "/SignatureVersion", "/Signature", "/SigningCertURL",
];

/// What the message itself may be called by: EventBridge, S3, SES and others.
const INNER: [&str; 4] =
    ["/detail-type", "/Records/0/eventName", "/notificationType", "/eventType"];

pub(super) struct Message<'b>([Option<Scalar<'b>>; 11]);

impl<'b> Message<'b> {
    pub(super) fn read(body: &'b [u8]) -> Option<Self> {
        json::fields(body, NAMES).ok().map(Self)
    }

    pub(super) fn text(&self, field: Field) -> Option<&str> {
        self.0[field as usize].as_ref().map(Scalar::as_str)
    }

    /// Names and values, each on a line of its own; a notification may lack a subject.
    pub(super) fn signed(&self) -> Result<Vec<&[u8]>, Rejection> {
        let fields = match self.text(Field::Type) {
            Some("Notification") => {
                [Field::Message, Field::MessageId, Field::Subject, Field::Timestamp].to_vec()
            }
            Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => [
                Field::Message,
                Field::MessageId,
                Field::SubscribeUrl,
                Field::Timestamp,
                Field::Token,
            ]
            .to_vec(),
            _ => return Err(Rejection::ProofMalformed("the Type is not known")),
        };
        let mut parts: Vec<&[u8]> = Vec::new();
        for field in fields.into_iter().chain([Field::TopicArn, Field::Type]) {
            match (self.text(field), field) {
                (Some(text), _) => {
                    let name = &NAMES[field as usize][1..];
                    parts.extend([name.as_bytes(), b"\n", text.as_bytes(), b"\n"]);
                }
                (None, Field::Subject) => {}
                (None, _) => return Err(Rejection::ProofMissing("a signed field is absent")),
            }
        }
        Ok(parts)
    }

    /// The key is the signed id, kept over retries.
    pub(super) fn event(&self) -> Result<Event, Rejection> {
        let id = self.text(Field::MessageId).unwrap_or_default();
        let inner = self.text(Field::Message).unwrap_or_default();
        let inner = json::fields(inner.as_bytes(), INNER).unwrap_or_default();
        let inner = json::texts(&inner).into_iter().flatten().next().unwrap_or_default();
        let at = self.text(Field::Timestamp);
        Ok(Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[self.text(Field::Type).unwrap_or_default(), inner]),
            entity: identity::entity(&[self.text(Field::TopicArn)]),
            position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
            // Made anew with a new certificate, and another one for each subscription.
            volatile: &["/Signature", "/SigningCertURL", "/SignatureVersion", "/UnsubscribeURL"],
            part: None,
        })
    }
}

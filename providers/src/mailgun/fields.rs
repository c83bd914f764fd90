//! Where Mailgun's fields stand: in objects of JSON, or side by side in a form.

use crate::text::form_field;
use crate::{Draft, example, json};

/// Fields in JSON, and the same in a form.
pub(super) const FIELDS: [(&str, &str); 8] = [
    ("/signature/timestamp", "timestamp"),
    ("/signature/token", "token"),
    ("/signature/signature", "signature"),
    ("/signature/parent-signature", "parent-signature"),
    ("/event-data/event", "event"),
    ("/event-data/message/headers/message-id", "Message-Id"),
    ("/event-data/recipient", "recipient"),
    ("/event-data/timestamp", "timestamp"),
];

/// The fields of a body in either form.
pub(super) fn fields(body: &[u8]) -> [Option<String>; 8] {
    match json::fields(body, FIELDS.map(|(pointer, _)| pointer)) {
        Ok(fields) => fields.map(|field| field.map(|field| field.as_str().to_owned())),
        Err(_) => FIELDS.map(|(_, name)| {
            form_field(body, name).map(|value| String::from_utf8_lossy(&value).into_owned())
        }),
    }
}

/// A webhook in JSON, without its signature.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    example::written(serde_json::json!({ "event-data": {
        "id": "W3X4JOhFT-OZidZGKKr9iA", "event": draft.kind, "timestamp": draft.now_s,
        "log-level": "info", "recipient": "example@example.com",
        "message": { "headers": { "message-id": "20260101000000.1@example.com" } },
    } }))
}

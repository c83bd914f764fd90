//! One notification about a payment, out of the array in JSON or out of a form.

use std::ops::Range;

use crate::sign::Encoding;
use crate::text::{Unit, form_field, time_us};
use crate::{Draft, Event, Facts, Part, Position, Rejection, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Adyen",
    proof: "HMAC-SHA256 base64 over eight fields of each item; platforms: over the body",
    key: "`pspReference`, `eventCode`, `success`; platforms: a digest",
    entity: "`originalReference`, else `pspReference`; platforms: `/data/.../id`",
    position: "`eventDate`; platforms: `/timestamp`, `/data/sequenceNumber`",
};

/// Where the fields stand in an item of JSON, and in a form. The first eight are signed, in this
/// order.
const FIELDS: [(&str, &str); 10] = [
    ("/pspReference", "pspReference"),
    ("/originalReference", "originalReference"),
    ("/merchantAccountCode", "merchantAccountCode"),
    ("/merchantReference", "merchantReference"),
    ("/amount/value", "value"),
    ("/amount/currency", "currency"),
    ("/eventCode", "eventCode"),
    ("/success", "success"),
    ("/additionalData/hmacSignature", "additionalData.hmacSignature"),
    ("/eventDate", "eventDate"),
];

/// One notification.
pub(super) struct Item {
    texts: [Option<String>; 10],
    range: Option<Range<usize>>,
}

/// All notifications of a body.
pub(super) fn items(body: &[u8]) -> Result<Vec<Item>, Rejection> {
    let wrapped = match json::items(body, "/notificationItems") {
        Ok(items) => items,
        Err(json::ItemsFault::NotJson) => {
            let texts = FIELDS.map(|(_, name)| {
                form_field(body, name).map(|value| String::from_utf8_lossy(&value).into_owned())
            });
            return Ok(vec![Item { texts, range: None }]);
        }
        Err(_) => return Ok(Vec::new()),
    };
    let pointers = FIELDS.map(|(pointer, _)| format!("/NotificationRequestItem{pointer}"));
    let read = |item: json::Item<'_>| {
        let fields = json::fields(item.json, pointers.each_ref().map(String::as_str))
            .map_err(|_| Rejection::ProofMalformed("an item is not JSON"))?;
        let texts = fields.map(|field| field.map(|field| field.as_str().to_owned()));
        Ok(Item { texts, range: Some(item.range) })
    };
    wrapped.into_iter().map(read).collect()
}

impl Item {
    fn text(&self, index: usize) -> &str {
        self.texts[index].as_deref().unwrap_or_default()
    }

    /// The signature that the item carries.
    pub(super) fn claim(&self) -> Result<Vec<u8>, Rejection> {
        match self.text(8) {
            "" => Err(Rejection::ProofMissing("an item has no hmacSignature")),
            text => Encoding::Base64
                .read(text.as_bytes())
                .filter(|claim| !claim.is_empty())
                .ok_or(Rejection::ProofMalformed("a hmacSignature is not base64")),
        }
    }

    /// The signed fields with colons between them; nothing is escaped, and what is absent is empty.
    pub(super) fn signed(&self) -> Vec<&[u8]> {
        let mut parts = vec![self.text(0).as_bytes()];
        for index in 1..8 {
            parts.extend([b":", self.text(index).as_bytes()]);
        }
        parts
    }

    /// The key is of signed fields only: Adyen calls notifications with the same reference and code
    /// duplicates, unless their success differs.
    pub(super) fn event(&self, alone: bool) -> Result<Event, Rejection> {
        let [reference, original] = [self.text(0), self.text(1)];
        if reference.is_empty() {
            return Err(Rejection::Unreadable("an item has no pspReference"));
        }
        let key = format!("{reference}:{}:{}", self.text(6), self.text(7));
        let about = if original.is_empty() { reference } else { original };
        let part = self.range.clone().filter(|_| !alone);
        Ok(Event {
            key: identity::key(key.as_bytes())?,
            kind: identity::kind(&[self.text(6)]),
            entity: identity::entity(&[Some(about)]),
            position: Position::at(time_us(self.text(9), Unit::Seconds)),
            volatile: &[],
            part: part.map(Part::Slice),
        })
    }
}

/// An authorisation, unless the draft says otherwise.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let item = serde_json::json!({
        "amount": { "currency": "EUR", "value": 1130 }, "eventCode": draft.kind,
        "eventDate": "2026-01-01T00:00:00+01:00", "merchantAccountCode": "ExampleAccount",
        "merchantReference": "example", "paymentMethod": "visa", "success": "true",
    });
    example::written(serde_json::json!({
        "live": "false", "notificationItems": [{ "NotificationRequestItem": item }],
    }))
}

//! Xero: an HMAC over the raw body in base64, around a batch of events. Before it sends any, Xero
//! tests the intent to receive: empty batches with good and bad signatures, which want 200 and
//! 401, without body or cookies.
//!
//! Source: developer.xero.com/documentation/guides/webhooks.

use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::utc_date_us;
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Reply, Request, Secret,
    Signed, Verified, Window,
};
use crate::{example, identity, json};

/// Apps of Xero.
pub(crate) struct Xero;

const TAG: BodyTag = BodyTag::new("x-xero-signature", "", Encoding::Base64);

#[rustfmt::skip]
const FIELDS: [&str; 5] =
    ["/eventCategory", "/eventType", "/tenantId", "/resourceId", "/eventDateUtc"];

impl Provider for Xero {
    fn name(&self) -> &'static str {
        "xero"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Xero",
            proof: "HMAC-SHA256 base64",
            key: "a digest of sequence and event",
            entity: "tenant and resource",
            position: "`/firstEventSequence` and place; `eventDateUtc` (ms)",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried for a day.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn accepted(&self) -> Option<Reply> {
        Some(Reply::empty(200))
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    /// The key is a digest of the event and its number. There is no id; `/entropy` is new on each
    /// attempt, and the number is the event's own whatever batch it comes in.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let fields = json::fields(proved.body(), ["/firstEventSequence", "/lastEventSequence"])?;
        let [first, last] = json::texts(&fields).map(|text| text?.parse::<i64>().ok());
        let items = json::items(proved.body(), "/events")?;
        // Only a batch without gaps gives each of its events a number.
        let count = i64::try_from(items.len()).unwrap_or_default();
        let first = first.filter(|first| last.is_some() && first.checked_add(count - 1) == last);
        let read = |(place, item): (usize, &json::Item<'_>)| {
            let fields = json::fields(item.json, FIELDS)?;
            let [category, kind, tenant, resource, at] = json::texts(&fields);
            let sequence = first.zip(i64::try_from(place).ok()).map(|(first, n)| first + n);
            let number = sequence.map(|number| number.to_string()).unwrap_or_default();
            Ok(Event {
                key: identity::content_digest(&[&number], item.json, &[]),
                kind: identity::kind(&[category.unwrap_or_default(), kind.unwrap_or_default()]),
                entity: identity::entity(&[tenant, resource]).or(identity::entity(&[resource])),
                position: Position { occurred_at_us: at.and_then(utc_date_us), sequence },
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        items.iter().enumerate().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let (category, kind) = draft.kind.split_once('.').unwrap_or((draft.kind, "UPDATE"));
    let at = example::date(draft.now_s).replace('Z', ".000");
    example::written(serde_json::json!({
        "events": [{
            "resourceUrl": format!("https://api.xero.com/api.xro/2.0/Contacts/{}", draft.key),
            "resourceId": draft.key, "eventDateUtc": at, "eventType": kind,
            "eventCategory": category, "tenantId": "c2cc9b6e-9458-4c7d-93cc-f02b81b0594f",
            "tenantType": "ORGANISATION",
        }],
        "firstEventSequence": 1, "lastEventSequence": 1, "entropy": "S0m3r4Nd0mt3xt",
    }))
}

//! Klaviyo: an HMAC over the body and then the time of sending, a text of its own header. Around a
//! batch of events.
//!
//! Source: developers.klaviyo.com, "Working with system webhooks".

use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::{Unit, time_us};
use crate::{
    Draft, Event, Facts, Part, Position, Proved, Provider, Rejection, Request, Secret, Signed,
    Verified, Window,
};
use crate::{example, identity, json};

/// System webhooks of a Klaviyo account.
pub(crate) struct Klaviyo;

const TIME: &str = "klaviyo-timestamp";
const SIGNATURE: &str = "klaviyo-signature";

/// Days that keys are kept. Whether a retry is signed anew is not said, so its time may be as old
/// as this: what is older could no longer be told from a new event.
const HORIZON_DAYS: u32 = 7;

/// The topic, the profile, and when it happened. A payload may be the event or hold it in `data`.
#[rustfmt::skip]
const FIELDS: [&str; 5] = [
    "/topic",
    "/payload/relationships/profile/data/id", "/payload/data/relationships/profile/data/id",
    "/payload/attributes/datetime", "/payload/attributes/timestamp",
];

impl Provider for Klaviyo {
    fn name(&self) -> &'static str {
        "klaviyo"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Klaviyo",
            proof: "HMAC-SHA256 hex over body and time",
            key: "a digest of the event",
            entity: "profile",
            position: "`datetime` or `timestamp` of the event",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["klaviyo-webhook-id", TIME]
    }

    fn horizon_days(&self) -> u32 {
        HORIZON_DAYS
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Hex)?;
        let time = request.header(TIME)?;
        let stamp = Stamp::read(TIME, time, Unit::Seconds).or_else(|_| Stamp::utc(TIME, time))?;
        let window = window.at_least(i64::from(HORIZON_DAYS) * 86_400);
        let (key, parts) = (secret.expose().as_bytes(), [request.body, time]);
        sign::prove_hmac(request, Hash::Sha256, key, &parts, &[claim])?.within(stamp, window)
    }

    /// The key is a digest of the item. `Klaviyo-Webhook-Id` names the subscription, and
    /// `/meta/timestamp` is the attempt's.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let read = |item: &json::Item<'_>| {
            let fields = json::fields(item.json, FIELDS)?;
            let [topic, profile, nested, at, other] = json::texts(&fields);
            Ok(Event {
                key: identity::content_digest(&[], item.json, &[]),
                kind: identity::kind(&[topic.unwrap_or_default()]),
                entity: identity::entity(&[profile.or(nested)]),
                position: Position::at(at.or(other).and_then(|at| time_us(at, Unit::Seconds))),
                volatile: &[],
                part: Some(Part::Slice(item.range.clone())),
            })
        };
        json::items(proved.body(), "/data")?.iter().map(read).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let time = example::date(draft.now_s);
        let parts = [&body, time.as_bytes()];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            ("Klaviyo-Webhook-Id", "01J0EXAMPLE"),
            ("Klaviyo-Timestamp", &time),
            ("Klaviyo-Signature", &Encoding::Hex.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let at = example::date(draft.now_s);
    let profile =
        serde_json::json!({ "profile": { "data": { "type": "profile", "id": "01GDEX" } } });
    let payload = serde_json::json!({ "type": "event", "id": draft.key,
        "attributes": { "datetime": at }, "relationships": profile });
    example::written(serde_json::json!({
        "data": [{ "external_id": draft.key, "topic": draft.kind, "payload": payload }],
        "meta": { "timestamp": at, "klaviyo_account_id": "ABCDEF", "version": "1" },
    }))
}

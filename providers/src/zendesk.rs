//! Zendesk: an HMAC over time and body, joined without a mark between them. The secret looks like
//! base64 and is used as the text that it is.
//!
//! Source: developer.zendesk.com, "Verifying webhooks" and "Event types".

use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Webhooks of Zendesk, subscribed to events or called by triggers and automations.
pub(crate) struct Zendesk;

const SIGNATURE: &str = "x-zendesk-webhook-signature";
const TIME: &str = "x-zendesk-webhook-signature-timestamp";
const INVOCATION: &str = "x-zendesk-webhook-invocation-id";

impl Provider for Zendesk {
    fn name(&self) -> &'static str {
        "zendesk"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Zendesk",
            proof: "HMAC-SHA256 base64 over time and body",
            key: "`X-Zendesk-Webhook-Invocation-Id`",
            entity: "`/subject`, else `/detail/id`",
            position: "`/time`, else `/detail/updated_at`",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-zendesk-account-id", "x-zendesk-webhook-id", INVOCATION]
    }

    fn horizon_days(&self) -> u32 {
        // A few retries within minutes.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(12_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Base64)?;
        let time = request.header(TIME)?;
        // Zendesk writes UTC. With nothing between time and body, a time that could end earlier
        // would let bytes move from one to the other.
        if !time.ends_with(b"Z") {
            return Err(Rejection::HeaderMalformed(TIME, "the time does not end in Z"));
        }
        let stamp = Stamp::date(TIME, time)?;
        let (key, parts) = (secret.expose().as_bytes(), [time, request.body]);
        sign::prove_hmac(request, Hash::Sha256, key, &parts, &[claim])?.within(stamp, window)
    }

    /// The key is the id of the invocation, kept over its retries. Bodies of triggers are the
    /// operator's own templates, of any form, so none of them needs to have an id.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = ["/type", "/subject", "/detail/id", "/time", "/detail/updated_at"];
        let fields = json::fields(proved.body(), pointers).unwrap_or_default();
        let [kind, subject, id, time, updated_at] = json::texts(&fields);
        Ok(vec![Event {
            key: identity::header_key(proved.request(), INVOCATION)?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[subject.or(id)]),
            position: Position::at(time.or(updated_at).and_then(date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/zendesk/ticket.json");
        let body = example::filled(draft, text, &[("/type", draft.kind)]);
        let time = example::date(draft.now_s);
        let parts = [time.as_bytes(), &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Zendesk-Webhook-Id", "01GJ0000000000000000000000"),
            ("X-Zendesk-Webhook-Invocation-Id", draft.key),
            ("X-Zendesk-Webhook-Signature-Timestamp", &time),
            ("X-Zendesk-Webhook-Signature", &Encoding::Base64.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

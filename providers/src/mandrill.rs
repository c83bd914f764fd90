//! Mandrill (Mailchimp Transactional): an HMAC-SHA1 over the public URL and the fields of the form,
//! one of which holds an array of events. The URL is signed as registered, credentials included.
//!
//! Source: mailchimp.com/developer/transactional, "Authenticating webhook requests";
//! anymail/django-anymail.

use std::borrow::Cow;

use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, form_escaped, form_field, form_fields, time_us};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Part, Position, Proved, Provider, Rejection,
    Reply, Request, Secret, Signed, Verified, Window, example, identity, json,
};

/// Webhooks of a Mandrill account.
pub(crate) struct Mandrill;

const SIGNATURE: &str = "x-mandrill-signature";
const EVENTS: &str = "mandrill_events";

/// The URL, and after it the names and values of the form by name.
fn signed<'a>(url: &'a str, body: &'a [u8]) -> Vec<Cow<'a, [u8]>> {
    let mut fields: Vec<_> = form_fields(body).collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    let fields = fields.into_iter().flat_map(|(name, value)| [name, value]);
    std::iter::once(Cow::Borrowed(url.as_bytes())).chain(fields).collect()
}

impl Provider for Mandrill {
    fn name(&self) -> &'static str {
        "mandrill"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Mandrill",
            proof: "HMAC-SHA1 base64 over URL and form",
            key: "a digest of id, event, time and what tells clicks apart",
            entity: "`/*/_id`, or the address",
            position: "`/*/ts` (1 s)",
        }
    }

    fn body_bytes_max(&self) -> usize {
        // A thousand events, escaped for the form; inbound mail brings its attachments along.
        26_214_400
    }

    fn horizon_days(&self) -> u32 {
        // Failed batches are sent again at growing intervals, for less than two days.
        3
    }

    /// While a webhook is added, its URL is looked at with HEAD and then shown an empty batch that
    /// is signed with a key of no account.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        let is_empty = |events: Cow<'_, [u8]>| *events == b"[]"[..];
        let is_probe = request.method == "HEAD"
            || request.method == "POST" && form_field(request.body, EVENTS).is_some_and(is_empty);
        is_probe.then(|| Handshake::answer(Reply::empty(200)))?
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Base64)?;
        let parts = signed(request.url, request.body);
        let parts: Vec<&[u8]> = parts.iter().map(AsRef::as_ref).collect();
        let key = secret.expose().as_bytes();
        sign::prove_hmac_decoded(request, Hash::Sha1, key, &parts, &[claim])
    }

    /// Mandrill gives its events no id. `_id` names the message, which is clicked many times; the
    /// message's own fields go on changing, so only those of the event count.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let batch = form_field(proved.body(), EVENTS)
            .ok_or(Rejection::Unreadable("the form has no mandrill_events"))?;
        let event = |item: json::Item<'_>| {
            let fields = json::fields(item.json, FIELDS)?;
            let all @ [id, event, kind, action, at, reject, entry, ..] = json::texts(&fields);
            let key = match id.or(reject).or(entry) {
                Some(_) => identity::digest(&all.map(|t| t.unwrap_or_default().as_bytes())),
                None => identity::digest(&[item.json]),
            };
            Ok(Event {
                key,
                kind: identity::kind(&[
                    event.or(kind).unwrap_or_default(),
                    action.unwrap_or_default(),
                ]),
                entity: identity::entity(&[id.or(reject).or(entry)]),
                position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
                volatile: if id.is_some() { &["/msg"] } else { &[] },
                part: Some(Part::Bytes(item.json.to_vec())),
            })
        };
        json::items(&batch, "")?.into_iter().map(event).collect()
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let made = example::written(serde_json::json!([{ "event": draft.kind, "ts": draft.now_s,
            "msg": { "ts": draft.now_s, "email": "example@example.com", "state": "sent" } }]));
        // A body of one's own may stand in the form already.
        let own = |body| form_field(body, EVENTS).unwrap_or(Cow::Borrowed(body)).into_owned();
        let batch = draft.body.map_or(made, own);
        let batch = json::with_text(&batch, "/0/_id", draft.key).unwrap_or(batch);
        let tag = [draft.url.as_bytes(), EVENTS.as_bytes(), &batch];
        let tag = sign::hmac(Hash::Sha1, secret.expose().as_bytes(), &tag)?;
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Mandrill-Signature", &Encoding::Base64.write(&tag)),
        ];
        let body = [EVENTS.as_bytes(), b"=", &form_escaped(&batch)].concat();
        Some(Signed { headers: example::headers(&headers), body })
    }
}

/// Id, event, kind, action and time, addresses of lists; then what tells clicks apart.
#[rustfmt::skip]
const FIELDS: [&str; 10] = [
    "/_id", "/event", "/type", "/action", "/ts", "/reject/email", "/entry/email",
    "/url", "/ip", "/user_agent",
];

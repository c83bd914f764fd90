//! CloudEvents over HTTP: one event in headers (binary), one in JSON (structured) or a batch. The
//! specification signs nothing; its webhooks show a bearer token, or the same in the query.
//!
//! Source: cloudevents/spec, http-protocol-binding.md and http-webhook.md.

mod origin;
mod read;

use std::borrow::Cow;

pub(crate) use self::origin::allow;
pub(crate) use self::read::structured;
use self::read::{FACTS, binary, sample};
use crate::sign::{self, Coverage};
use crate::text::is_media_type;
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Part, Proved, Provider, Rejection, Request,
    Secret, Signed, Verified, Window, example, json,
};

/// Any sender that speaks CloudEvents and shows a token.
pub(crate) struct CloudEvents;

const BATCH: &str = "application/cloudevents-batch+json";
const STRUCTURED: &str = "application/cloudevents+json";

impl Provider for CloudEvents {
    fn name(&self) -> &'static str {
        "cloudevents"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            "ce-id",
            "ce-source",
            "ce-type",
            "ce-time",
            "ce-subject",
            "ce-specversion",
            "ce-dataschema",
            "ce-sequence",
        ]
    }

    fn body_bytes_max(&self) -> usize {
        // Every intermediary must take 64 KiB of an event; this leaves room for batches.
        4 << 20
    }

    fn secret_fault(&self, _: &Secret) -> Option<String> {
        // Any text may have been agreed upon, one that looks like an API key included.
        None
    }

    /// Before it sends, a sender asks with OPTIONS whether it may. That grants nothing here: every
    /// event must be proved all the same.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        allow(request, &[])
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        // The header decides where there is one: two tokens would be two chances to guess.
        let token = match request.header_if_present("authorization")? {
            Some(_) => Cow::Borrowed(request.bearer()?),
            None => request
                .query_field("access_token")
                .filter(|token| !token.is_empty())
                .ok_or(Rejection::HeaderMissing("authorization"))?,
        };
        sign::prove_token(request, secret.expose().as_bytes(), &token)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let media_type = request.header("content-type").unwrap_or_default();
        if is_media_type(media_type, BATCH) {
            let event = |item: json::Item<'_>| {
                Ok(Event { part: Some(Part::Slice(item.range)), ..structured(item.json)? })
            };
            return json::items(request.body, "")?.into_iter().map(event).collect();
        }
        match is_media_type(media_type, STRUCTURED) {
            true => Ok(vec![structured(request.body)?]),
            false => Ok(vec![binary(request)?]),
        }
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", &format!("Bearer {}", secret.expose())),
            ("ce-specversion", "1.0"),
            ("ce-id", draft.key),
            ("ce-source", "/example"),
            ("ce-type", draft.kind),
            ("ce-subject", "example"),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

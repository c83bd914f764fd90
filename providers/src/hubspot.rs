//! HubSpot: three generations of signatures. The third is an HMAC over method, URL, body and time
//! and decides alone where it is sent; the older two are plain hashes that begin with the secret.
//!
//! Source: developers.hubspot.com, "Validating requests"; hubspot-api-python, hubspot-api-nodejs.

mod event;

use self::event::{FACTS, event, sample, url_as_signed};
use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::Unit;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
    example, json,
};

/// Webhooks and workflow actions of a HubSpot app.
pub(crate) struct HubSpot;

const SIGNATURE: &str = "x-hubspot-signature";
const VERSION: &str = "x-hubspot-signature-version";
const SIGNATURE_V3: &str = "x-hubspot-signature-v3";
const TIME: &str = "x-hubspot-request-timestamp";

impl Provider for HubSpot {
    fn name(&self) -> &'static str {
        "hubspot"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn horizon_days(&self) -> u32 {
        // Ten retries over 24 hours.
        3
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let (key, method) = (secret.expose().as_bytes(), request.method.as_bytes());
        if request.header_lines(SIGNATURE_V3).next().is_some() {
            let claim = sign::claimed(request, SIGNATURE_V3, "", Encoding::Base64)?;
            let time = request.header(TIME)?;
            let stamp = Stamp::read(TIME, time, Unit::Millis)?;
            let url = url_as_signed(request.url);
            let parts = [method, url.as_bytes(), request.body, time];
            return sign::prove_hmac(request, Hash::Sha256, key, &parts, &[claim])?
                .within(stamp, window);
        }
        let claim = sign::claimed(request, SIGNATURE, "", Encoding::Hex)?;
        match request.header(VERSION)? {
            b"v1" => sign::prove_digest(request, key, &[request.body], &claim),
            b"v2" => {
                let parts = [method, request.url.as_bytes(), request.body];
                sign::prove_digest(request, key, &parts, &claim)
            }
            _ => Err(Rejection::HeaderMalformed(VERSION, "expected v1 or v2")),
        }
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        match json::items(proved.body(), "") {
            Ok(items) => items.into_iter().map(|item| event(item.json, Some(item.range))).collect(),
            // A workflow sends one object, the record as it is.
            Err(json::ItemsFault::NoArray) => Ok(vec![event(proved.body(), None)?]),
            Err(fault) => Err(fault.into()),
        }
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/0/eventId", draft.key).unwrap_or(body);
        let time = draft.now_s.saturating_mul(1000).to_string();
        let url = url_as_signed(draft.url);
        let parts = [b"POST", url.as_bytes(), &body, time.as_bytes()];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let signature = Encoding::Base64.write(&tag);
        let headers =
            [("Content-Type", "application/json"), (SIGNATURE_V3, &signature), (TIME, &time)];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

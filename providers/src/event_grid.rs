//! Azure Event Grid: nothing is signed. A secret that the operator chose stands in the delivery
//! header `aeg-sas-key`, in `Authorization`, or as `code` in the query of the URL. Tokens of
//! Microsoft Entra are not read.
//!
//! Source: learn.microsoft.com/azure/event-grid, "Webhook event delivery", "Event schemas".

mod event;

use serde_json::json;

use self::event::{FACTS, event, sample};
use crate::cloudevents::{allow, structured};
use crate::sign::{self, Coverage};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Part, Proved, Provider, Rejection, Reply, Request,
    Secret, Signed, Verified, Window, example, json,
};

/// Webhook subscriptions of Azure Event Grid, in its own schema or as CloudEvents.
pub(crate) struct EventGrid;

const KEY: &str = "aeg-sas-key";

/// Who may ask for permission: the public cloud and the two that stand apart.
const HOSTS: &[&str] = &["eventgrid.azure.net", "eventgrid.azure.us", "eventgrid.azure.cn"];

impl Provider for EventGrid {
    fn name(&self) -> &'static str {
        "event_grid"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["aeg-event-type", "aeg-subscription-name", "aeg-delivery-count", "aeg-data-version"]
    }

    fn body_bytes_max(&self) -> usize {
        // Events and batches of up to 1 MB each.
        2 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Thirty tries within 24 hours.
        3
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(30_000)
    }

    /// A new subscription wants its code back, or asks by OPTIONS. Saying yes grants nothing: its
    /// events must show the secret all the same.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        if request.header("aeg-event-type") != Ok(b"SubscriptionValidation") {
            return allow(request, HOSTS);
        }
        let fields = json::fields(request.body, ["/0/data/validationCode"]).ok()?;
        let code = fields[0].as_ref().filter(|_| request.method == "POST")?.as_str();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let good = (1..=128).contains(&code.len()) && code.bytes().all(plain);
        let answer = json!({ "validationResponse": code }).to_string();
        good.then(|| Handshake::answer(Reply::json(answer)))?
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let expected = secret.expose().as_bytes();
        if request.header_lines(KEY).next().is_some() {
            return sign::prove_token(request, expected, request.header(KEY)?);
        }
        if request.header_lines("authorization").next().is_some() {
            let value = request.header("authorization")?;
            return sign::prove_token(request, expected, request.bearer().unwrap_or(value));
        }
        let code = request.query_field("code").filter(|code| !code.is_empty());
        sign::prove_token(request, expected, &code.ok_or(Rejection::HeaderMissing(KEY))?)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let body = proved.body();
        let event = |item: json::Item<'_>| {
            Ok(Event { part: Some(Part::Slice(item.range)), ..event(item.json)? })
        };
        match json::items(body, "") {
            Ok(items) => items.into_iter().map(event).collect(),
            Err(json::ItemsFault::NoArray) => Ok(vec![structured(body)?]),
            Err(fault) => Err(fault.into()),
        }
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/0/id", draft.key).unwrap_or(body);
        let headers = [
            ("Content-Type", "application/json"),
            ("aeg-event-type", "Notification"),
            (KEY, secret.expose()),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

//! Microsoft Graph: every notification in the body shows the `clientState` that was set when the
//! subscription was made. It proves the sender and nothing of the content. `verify` reads that
//! field of the body only; the tokens of rich notifications are not read.
//!
//! Source: learn.microsoft.com/graph/change-notifications-delivery-webhooks.

mod notification;

use self::notification::{FACTS, notification, sample};
use crate::sign::{self, Coverage};
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Proved, Provider, Rejection, Reply, Request,
    Secret, Signed, Verified, Window, example, json,
};

/// Change notifications of Microsoft Graph.
pub(crate) struct MicrosoftGraph;

/// Longer than any validation token: these have some 200 characters.
const TOKEN_BYTES_MAX: usize = 2048;

impl Provider for MicrosoftGraph {
    fn name(&self) -> &'static str {
        "microsoft_graph"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn body_bytes_max(&self) -> usize {
        // Batches with encrypted content.
        4 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 4 hours; a week covers notifications that were held back.
        9
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    /// When a subscription is made or checked again, the token in the query wants to come back as
    /// plain text.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        let is_ask = request.method == "POST" && request.body.is_empty();
        let token = request.query_field("validationToken").filter(|_| is_ask)?;
        let plain = |byte: &u8| (b' '..=b'~').contains(byte);
        let good = (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.iter().all(plain);
        good.then(|| Handshake::answer(Reply::text(200, token.into_owned())))?
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let missing = || Rejection::ProofMissing("a notification has no clientState");
        let mut outcome = Err(missing());
        for item in json::items(request.body, "/value").unwrap_or_default() {
            let fields = json::fields(item.json, ["/clientState"]).unwrap_or_default();
            let state = fields[0].as_ref().ok_or_else(missing)?;
            let (expected, state) = (secret.expose().as_bytes(), state.as_str().as_bytes());
            outcome = sign::prove_token(request, expected, state);
            if outcome.is_err() {
                break;
            }
        }
        outcome
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        json::items(proved.body(), "/value")?.into_iter().map(notification).collect()
    }

    fn accepted(&self) -> Option<Reply> {
        Some(Reply::empty(202))
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| sample(draft), <[u8]>::to_vec);
        let body = json::with_text(&body, "/value/0/id", draft.key)?;
        let body = json::with_text(&body, "/value/0/clientState", secret.expose())?;
        Some(Signed { headers: example::headers(&[("Content-Type", "application/json")]), body })
    }
}

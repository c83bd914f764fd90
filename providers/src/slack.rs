//! Slack: an HMAC over time and body for the Events API (JSON), interactivity (a form with
//! `payload`) and slash commands (a plain form). The legacy `token` in the body is ignored.
//!
//! Source: docs.slack.dev, "Verifying requests from Slack"; slackapi/python-slack-sdk.

mod command;
mod fields;

use self::command::slash_command;
use self::fields::{FACTS, FIELDS};
use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::{Unit, form_field, is_media_type, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{Reply, echo, example, identity, json};

/// Apps of a Slack workspace.
pub(crate) struct Slack;

const TIME: &str = "x-slack-request-timestamp";
const SIGNATURE: &str = "x-slack-signature";

impl Provider for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &["x-slack-retry-num", "x-slack-retry-reason"]
    }

    fn horizon_days(&self) -> u32 {
        // Three retries within minutes; the option of delayed events stretches them over a day.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "v0=", Encoding::Hex)?;
        let time = request.header(TIME)?;
        let stamp = Stamp::read(TIME, time, Unit::Seconds)?;
        let parts = [b"v0:", time, b":", request.body];
        sign::prove_hmac(request, Hash::Sha256, secret.expose().as_bytes(), &parts, &[claim])?
            .within(stamp, window)
    }

    /// `url_verification` wants its challenge back, the certificate probe `ssl_check` any 200.
    /// Both are answered only after the signature: an unsigned shortcut would open a side door.
    fn challenge(&self, proved: &Proved<'_>) -> Option<Reply> {
        if is_form(proved.request()) {
            let probe = form_field(proved.body(), "ssl_check")? == &b"1"[..];
            return probe.then(|| Reply::empty(200));
        }
        let fields = json::fields(proved.body(), ["/type", "/challenge"]).ok()?;
        let [Some("url_verification"), Some(challenge)] = json::texts(&fields) else { return None };
        Some(echo::plain(echo::token(challenge.as_bytes())?))
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        if is_form(request) && form_field(request.body, "payload").is_none() {
            return slash_command(request.body);
        }
        let body = json::view(request.header("content-type").ok(), request.body);
        let fields = json::fields(&body, FIELDS)
            .map_err(|_| Rejection::Unreadable("the body is neither JSON nor a command"))?;
        let [event_id, trigger, outer, inner, subtype, team, team_object, place @ ..] =
            json::texts(&fields);
        let (place, times) = place.split_at(7);
        let place = place.iter().find_map(|id| *id);
        // An interaction is never retried: its trigger is new for each. What has neither id, such
        // as `app_rate_limited` or `view_closed`, differs in its body.
        let key = match event_id.or(trigger) {
            Some(id) => identity::key(id.as_bytes())?,
            None => identity::digest(&[request.body]),
        };
        let kind = [inner.or(outer).unwrap_or_default(), subtype.unwrap_or_default()];
        let at = times.iter().flatten().find_map(|at| time_us(at, Unit::Seconds));
        Ok(vec![Event {
            key,
            kind: identity::kind(&kind),
            entity: identity::entity(&[team.or(team_object), place]),
            position: Position::at(at),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body =
            draft.body.map_or_else(|| example::slack(draft.kind, draft.now_s), <[u8]>::to_vec);
        let body = json::with_text(&body, "/event_id", draft.key).unwrap_or(body);
        let time = draft.now_s.to_string();
        let parts = [b"v0:", time.as_bytes(), b":", &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Slack-Request-Timestamp", &time),
            ("X-Slack-Signature", &format!("v0={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

fn is_form(request: &Request<'_>) -> bool {
    let content_type = request.header("content-type").unwrap_or_default();
    is_media_type(content_type, "application/x-www-form-urlencoded")
}

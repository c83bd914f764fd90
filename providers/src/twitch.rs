//! Twitch EventSub: an HMAC over id, time and body, joined without marks between them. A new
//! subscription is confirmed by a challenge, which is signed as any event and answered only then.
//!
//! Source: dev.twitch.tv, "Handling webhook events"; twitch-rs/twitch_api.

mod fields;

use self::fields::{CONDITION, FACTS};
use crate::sign::{self, Encoding, Hash, Stamp};
use crate::text::date_us;
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Reply, Request, Secret, Signed,
    Verified, Window,
};
use crate::{echo, example, identity, json};

/// EventSub subscriptions with the webhook transport.
pub(crate) struct Twitch;

const ID: &str = "twitch-eventsub-message-id";
const TIME: &str = "twitch-eventsub-message-timestamp";
const TYPE: &str = "twitch-eventsub-message-type";
const KIND: &str = "twitch-eventsub-subscription-type";
const SIGNATURE: &str = "twitch-eventsub-message-signature";

/// Twitch advises to refuse what is older than 10 minutes, and may resend for as long.
const TOLERANCE_S: i64 = 600;

impl Provider for Twitch {
    fn name(&self) -> &'static str {
        "twitch"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            ID,
            TIME,
            TYPE,
            KIND,
            "twitch-eventsub-message-retry",
            "twitch-eventsub-subscription-version",
        ]
    }

    fn horizon_days(&self) -> u32 {
        // Resent within minutes; then the subscription is revoked.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        // "A few seconds"; ten were seen.
        Some(10_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let claim = sign::claimed(request, SIGNATURE, "sha256=", Encoding::Hex)?;
        let (id, time) = (request.header(ID)?, request.header(TIME)?);
        let (key, stamp) = (secret.expose().as_bytes(), Stamp::date(TIME, time)?);
        sign::prove_hmac(request, Hash::Sha256, key, &[id, time, request.body], &[claim])?
            .within(stamp, window.at_least(TOLERANCE_S))
    }

    fn challenge(&self, proved: &Proved<'_>) -> Option<Reply> {
        if proved.request().header(TYPE) != Ok(b"webhook_callback_verification") {
            return None;
        }
        let fields = json::fields(proved.body(), ["/challenge"]).ok()?;
        let [challenge] = json::texts(&fields);
        Some(echo::plain(echo::token(challenge?.as_bytes())?))
    }

    /// The key is the signed id of the message, equal when it is resent. The id of the
    /// subscription is another thing, though tools for trying it out send one for both.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let [what, kind, at] = [TYPE, KIND, TIME].map(|name| identity::header_text(request, name));
        let fields = json::fields(request.body, CONDITION).unwrap_or_default();
        // A raid is watched at one end; the other stands in the condition as an empty text.
        let subject = json::texts(&fields).into_iter().flatten().find(|id| !id.is_empty());
        // A revocation is of a subscription, and the last that is heard of it.
        let what = if what == "notification" { "" } else { &what };
        Ok(vec![Event {
            key: identity::header_key(request, ID)?,
            kind: identity::kind(&[what, &kind]),
            entity: identity::entity(&[subject]),
            position: Position::at(date_us(&at)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let text = include_str!("../bodies/twitch/follow.json");
        let body = example::filled(draft, text, &[("/subscription/type", draft.kind)]);
        let time = example::date(draft.now_s);
        let parts = [draft.key.as_bytes(), time.as_bytes(), &body];
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &parts)?;
        let headers = [
            ("Content-Type", "application/json"),
            (ID, draft.key),
            (TIME, &time),
            (TYPE, "notification"),
            (KIND, draft.kind),
            ("Twitch-Eventsub-Subscription-Version", "1"),
            (SIGNATURE, &format!("sha256={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

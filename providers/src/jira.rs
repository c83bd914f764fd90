//! Jira: an HMAC over the raw body where a webhook has a secret. Connect apps get a token of HS256
//! over method, path and query instead, which says nothing of the body; a signature, where there
//! is one, decides alone.
//!
//! Source: developer.atlassian.com/cloud/jira/platform/webhooks, and its
//! understanding-jwt-for-connect-apps.

mod connect;
mod issue;

use self::issue::{FACTS, issue};
use crate::sign::{self, Algorithm, Coverage, Encoding, Hash, Jwt};
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
    example,
};

/// Webhooks of Jira Cloud and Data Center.
pub(crate) struct Jira;

const SIGNATURE: &str = "x-hub-signature";
const ID: &str = "x-atlassian-webhook-identifier";

impl Provider for Jira {
    fn name(&self) -> &'static str {
        "jira"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    /// The weaker of the two; a proof says which it was.
    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[ID, "x-atlassian-webhook-flow", "x-atlassian-webhook-retry"]
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; issues carry all their fields and comments.
        8 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Five retries, up to 15 minutes apart; failed ones are listed for 72 hours.
        4
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(20_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        let key = secret.expose().as_bytes();
        match connect::token(request) {
            Some(token) if request.header_lines(SIGNATURE).next().is_none() => {
                let claims = Jwt::read(token, Algorithm::Hs256)?.prove_shared(request, key)?;
                let expected = connect::query_hashes(request);
                let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
                Ok(claims.demand("/qsh", &expected)?.current(window)?.proof())
            }
            _ => {
                let claim = sign::claimed(request, SIGNATURE, "sha256=", Encoding::Hex)?;
                sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &[claim])
            }
        }
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        Ok(vec![issue(proved.request())?])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| issue::sample(draft), <[u8]>::to_vec);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Atlassian-Webhook-Identifier", draft.key),
            ("X-Hub-Signature", &format!("sha256={}", Encoding::Hex.write(&tag))),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

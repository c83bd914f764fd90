//! Why a request was probably refused, for the operator who has to mend it.
//!
//! Pure, and bounded in work: it tries what commonly goes wrong until something would have been
//! proved. It admits nothing, and what it says is for the operator only: to a sender it would be
//! advice on how to forge. No secret is in its words.

mod altered;
mod elsewhere;
mod keyed;
mod secrets;
#[cfg(test)]
mod tests;

use crate::source::Source;
use providers::{Rejection, Request, Secret, Window, admit, admit_unsigned};
use std::sync::Arc;

/// Secrets of a source that are tried: more are never configured at once.
const SECRETS_MAX: usize = 4;

/// Longer bodies are not tried in other forms: each form is hashed anew for each secret.
const BODY_BYTES_MAX: usize = 256 << 10;

/// A refused request and what may explain it.
pub struct Case<'c> {
    /// The source that refused it.
    pub source: &'c Source,
    /// The secrets that did not prove it.
    pub secrets: &'c [Secret],
    /// All sources.
    pub others: &'c [Arc<Source>],
    /// The request as it was judged.
    pub request: Request<'c>,
    /// Path and query as received.
    pub target: &'c str,
    /// The body is all there.
    pub is_whole: bool,
    /// The time that it was judged by.
    pub window: Window,
    /// The label of the reason why it was refused.
    pub reason: &'c str,
    /// That reason in a sentence.
    pub detail: &'c str,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The likely cause.
    pub cause: Cause,
    /// In a sentence, with what to do.
    pub text: String,
}

/// The likely causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// As things stand now it would not be refused.
    Mended,
    /// A clock is off, or the request is old.
    Clock,
    /// Signed with the secret of another source.
    OtherSecret,
    /// Meant for another source.
    OtherSource,
    /// The right secret, written or decoded in the wrong way.
    SecretForm,
    /// The body was changed on the way.
    BodyAltered,
    /// Signed for another URL.
    OtherUrl,
    /// It comes from another kind of sender.
    OtherSender,
    /// The proof is missing.
    ProofMissing,
    /// The proof is there and not as its sender writes it.
    ProofMalformed,
    /// The configured secret is none.
    SecretUnusable,
    /// Nothing better was found: the secret is another one.
    WrongSecret,
    /// The sender's key could not be had.
    KeyMissing,
    /// The sender's own key did not sign it.
    Forged,
    /// Proved, and not an event.
    Unreadable,
}

impl Cause {
    /// The word in tables, logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mended => "mended",
            Self::Clock => "clock",
            Self::OtherSecret => "other_secret",
            Self::OtherSource => "other_source",
            Self::SecretForm => "secret_form",
            Self::BodyAltered => "body_altered",
            Self::OtherUrl => "other_url",
            Self::OtherSender => "other_sender",
            Self::ProofMissing => "proof_missing",
            Self::ProofMalformed => "proof_malformed",
            Self::SecretUnusable => "secret_unusable",
            Self::WrongSecret => "wrong_secret",
            Self::KeyMissing => "key_missing",
            Self::Forged => "forged",
            Self::Unreadable => "unreadable",
        }
    }
}

fn found(cause: Cause, text: impl Into<String>) -> Diagnosis {
    Diagnosis { cause, text: text.into() }
}

/// Looks for the likely cause.
pub fn diagnose(case: &Case<'_>) -> Diagnosis {
    let (source, request) = (case.source, &case.request);
    let admitted = match source.unsigned {
        true => admit_unsigned(source.provider, request),
        false => admit(source.provider, request, case.secrets, case.window),
    };
    let rejection = match admitted {
        Ok(_) => return found(Cause::Mended, "as things stand now it would be taken"),
        Err(rejection) => rejection,
    };
    let told = rejection.to_string();
    match rejection {
        Rejection::TimestampOutside { skew_s } => clock(skew_s),
        Rejection::Unreadable(what) => found(
            Cause::Unreadable,
            format!("the proof is good, but {what}: perhaps the source has the wrong provider"),
        ),
        Rejection::KeyWanted(_) => {
            let Case { reason, detail, .. } = *case;
            by_remote_key(reason, detail)
        }
        Rejection::KeyUnusable(what) => {
            let text = format!("what was fetched or pinned as the sender's key is none: {what}");
            found(Cause::KeyMissing, text)
        }
        Rejection::SecretUnusable(what) => {
            found(Cause::SecretUnusable, format!("the configured secret is unusable: {what}"))
        }
        Rejection::SignatureMismatch => mismatch(case),
        Rejection::HeaderMissing(_) | Rejection::HeaderEmpty(_) | Rejection::ProofMissing(_) => {
            elsewhere::other_source(case).or_else(|| elsewhere::other_sender(case)).unwrap_or_else(
                || {
                    let text = "the sender has no secret set for this URL, a proxy in front takes \
                        the proof away, or it is no webhook at all";
                    found(Cause::ProofMissing, format!("{told}: {text}"))
                },
            )
        }
        Rejection::HeaderRepeated(_)
        | Rejection::HeaderMalformed(..)
        | Rejection::ProofMalformed(_) => elsewhere::other_source(case)
            .or_else(|| elsewhere::other_sender(case))
            .unwrap_or_else(|| found(Cause::ProofMalformed, told)),
    }
}

/// What is checked with a key that is not at hand here: what was found at receipt has to do.
fn by_remote_key(reason: &str, detail: &str) -> Diagnosis {
    match reason {
        "signature" => {
            let text = "the key that the sender publishes did not sign it: a forgery, or the body \
                was changed on the way";
            found(Cause::Forged, text)
        }
        "timestamp" => found(Cause::Clock, detail),
        "key_missing" => found(Cause::KeyMissing, format!("{detail}: a forgery")),
        _ => found(Cause::ProofMalformed, detail),
    }
}

fn clock(skew_s: i64) -> Diagnosis {
    let (seconds, way) = (skew_s.unsigned_abs(), if skew_s < 0 { "behind" } else { "ahead of" });
    let text = format!(
        "the signature is good and its time {seconds} s {way} the clock here: a clock is off, or \
         the request was held back or repeated on the way"
    );
    found(Cause::Clock, text)
}

/// A proof in good form that none of the secrets makes.
fn mismatch(case: &Case<'_>) -> Diagnosis {
    if !case.is_whole {
        let text = "no secret of the source matches; the body was too long to be looked into";
        return found(Cause::WrongSecret, text);
    }
    elsewhere::other_secret(case)
        .or_else(|| elsewhere::other_source(case))
        .or_else(|| secrets::other_form(case))
        .or_else(|| altered::other_body(case))
        .or_else(|| elsewhere::other_url(case))
        .unwrap_or_else(|| {
            let text = "no secret of the source matches, nor any of its usual forms: the sender \
                has another one, or the body was changed on the way beyond recognition";
            found(Cause::WrongSecret, text)
        })
}

impl<'c> Case<'c> {
    /// The source's secrets that are tried.
    fn tried(&self) -> impl Iterator<Item = &'c Secret> {
        self.secrets.iter().take(SECRETS_MAX)
    }

    /// Whether a request would have been proved, if not in time.
    fn proves(&self, request: &Request<'_>, secret: &Secret) -> bool {
        proves(self.source, request, secret, self.window)
    }
}

fn proves(source: &Source, request: &Request<'_>, secret: &Secret, window: Window) -> bool {
    let verified = source.provider.verify(request, secret, window);
    matches!(verified, Ok(_) | Err(Rejection::TimestampOutside { .. }))
}

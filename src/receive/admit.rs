//! From bytes to deliveries: prove, read, record, answer.
//!
//! Nothing is interpreted before it is proved, and no 2xx is given before the commit.

use super::arrival::{Proof, arrival, kept};
use super::{Answer, Entry, Head, Intake};
use crate::clock::wall_us;
use crate::delivery::{KeptHeaders, Recorded, Verdict};
use crate::keys::{AtHand, Unfetched};
use crate::quarantine::{KeptRequest, RefusedRequest};
use crate::store::StoreError;
use bytes::Bytes;
use providers::{
    Admitted, Event, Reading, Rejection, Window, admit_unsigned_with, admit_with_keys,
};

/// Times that a request is shown anew with one more key. It needs one, and a list that has grown is
/// fetched twice.
const KEYS_MAX: usize = 6;

/// Why a request is not admitted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unproved {
    /// A check failed.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The key that it is to be checked with cannot be had.
    #[error("the sender's key: {0}")]
    NoKey(#[from] Unfetched),
}

impl Unproved {
    /// A short label for counters, from a closed set.
    fn label(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.label(),
            Self::NoKey(Unfetched::Forged(_)) => "key_missing",
            Self::NoKey(Unfetched::Failed(_)) => "key_unavailable",
        }
    }
}

impl Intake {
    pub(super) async fn admit(&self, entry: &Entry, head: &Head<'_>, body: &Bytes) -> Answer {
        let source = &entry.source;
        let now_s = wall_us() / 1_000_000;
        match self.prove(entry, head, body, now_s).await {
            Ok(Admitted::Challenge(reply)) => Answer::Reply(reply),
            Ok(Admitted::Events { .. }) if self.store.is_source_paused(&source.name) => {
                self.refuse(&source.name, "paused", "an operator paused the source");
                Answer::TooMany
            }
            Ok(Admitted::Events { events, .. }) if entry.is_over_rate(now_s, events.len()) => {
                self.refuse(&source.name, "rate", "more deliveries than the source's rate allows");
                Answer::TooMany
            }
            Ok(Admitted::Events { events, coverage, secret, visit }) => {
                let secret = (!source.unsigned).then_some(secret);
                let proof = Proof { coverage, secret, received_us: self.clock.now_us() };
                match self.record(entry, head, body, proof, events).await {
                    Ok(recorded) if is_conflict(&recorded) => answer(entry, recorded),
                    Ok(recorded) => match self.visit(entry, visit.as_ref()).await {
                        Ok(()) => answer(entry, recorded),
                        Err(why) => {
                            self.refuse(&source.name, "unconfirmed", &why);
                            Answer::Unavailable
                        }
                    },
                    Err(error) => {
                        tracing::error!(source = %source.name, %error, "nothing was recorded");
                        self.refuse(&source.name, "store", "the store did not take the delivery");
                        Answer::Unavailable
                    }
                }
            }
            Err(unproved) => {
                self.refuse(&source.name, unproved.label(), &unproved.to_string());
                if !matches!(unproved, Unproved::NoKey(Unfetched::Failed(_))) {
                    self.keep(entry, head, body, now_s, &unproved);
                }
                match unproved {
                    Unproved::Rejected(Rejection::Unreadable(_)) => Answer::Unreadable,
                    // A key that is none will be another one next time.
                    Unproved::NoKey(Unfetched::Failed(_))
                    | Unproved::Rejected(Rejection::KeyUnusable(_)) => Answer::Unavailable,
                    _ => Answer::NotProved(source.provider.refusal_status()),
                }
            }
        }
    }

    /// Keeps a refused request for the operator. What is only our fault comes again by itself.
    fn keep(&self, entry: &Entry, head: &Head<'_>, body: &Bytes, now_s: i64, unproved: &Unproved) {
        let lines = head.headers.iter().filter(|(name, _)| *name != "cookie");
        let line = |(name, value): &(&str, &[u8])| ((*name).to_owned(), value.to_vec());
        self.quarantine.put(&entry.source, body, |kept| RefusedRequest {
            source: entry.source.clone(),
            secrets: entry.secrets().to_vec(),
            received_us: now_s * 1_000_000,
            reason: unproved.label().to_owned(),
            detail: unproved.to_string(),
            head: KeptRequest {
                method: head.method.to_owned(),
                target: head.target.to_owned(),
                headers: KeptHeaders(lines.map(line).collect()),
            },
            body: kept,
            body_bytes: body.len(),
        });
    }

    /// Proves and reads a request, as if it were `now_s`.
    pub(super) async fn prove(
        &self,
        entry: &Entry,
        head: &Head<'_>,
        body: &[u8],
        now_s: i64,
    ) -> Result<Admitted, Unproved> {
        let source = &entry.source;
        let url = source.url(head.target);
        let request = head.request(&url, body);
        if source.unsigned {
            return Ok(admit_unsigned_with(source.provider, &request, source.split)?);
        }
        let window = Window { now_s, tolerance_s: source.tolerance_s };
        let mut at_hand = AtHand::default();
        for _ in 0..KEYS_MAX {
            let admitted = {
                let reading = Reading { keys: &at_hand, split: source.split };
                admit_with_keys(source.provider, &request, entry.secrets(), window, reading)
            };
            let wanted = match admitted {
                Err(Rejection::KeyWanted(wanted)) => wanted,
                other => return Ok(other?),
            };
            let (lacking, now_us) = (at_hand.found(&wanted), self.clock.now_us());
            let found = self.keys.get(&source.keys, &wanted, lacking, now_us).await?;
            at_hand.put(wanted, found);
        }
        Err(Unfetched::Forged("it wants one key after another".into()).into())
    }

    /// Records the events of a request, all or none: a sender knows no way to send half of a
    /// request again.
    pub(super) async fn record(
        &self,
        entry: &Entry,
        head: &Head<'_>,
        body: &Bytes,
        proof: Proof,
        events: Vec<Event>,
    ) -> Result<Vec<Recorded>, StoreError> {
        let headers = kept(head, entry.source.provider.forwarded());
        let arrivals =
            events.into_iter().map(|event| arrival(entry, head, event, body, &headers, proof));
        let recorded = self.store.record_all(arrivals.collect()).await?;
        for one in &recorded {
            let name = [&*entry.source.name];
            match one.verdict {
                Verdict::Accepted => self.metrics.accepted.with_label_values(&name).inc(),
                Verdict::Duplicate => self.metrics.duplicate.with_label_values(&name).inc(),
                Verdict::Revived => self.metrics.revived.with_label_values(&name).inc(),
                Verdict::Conflict => {
                    self.metrics.conflict.with_label_values(&name).inc();
                    tracing::warn!(source = %entry.source.name, delivery = %one.id,
                        "conflict: other content under the same key; the first one stands");
                }
            }
        }
        Ok(recorded)
    }
}

/// What the sender hears of what was recorded.
fn answer(entry: &Entry, recorded: Vec<Recorded>) -> Answer {
    match entry.source.provider.accepted() {
        Some(reply) if !is_conflict(&recorded) => Answer::Reply(reply),
        _ => Answer::Recorded(recorded),
    }
}

pub(super) fn is_conflict(recorded: &[Recorded]) -> bool {
    recorded.iter().any(|one| one.verdict == Verdict::Conflict)
}

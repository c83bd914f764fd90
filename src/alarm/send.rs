//! Tells the http destination of alarms, one after the other, until each has arrived.
//!
//! A task of its own: a destination that is slow or down holds up nobody but itself. What is to
//! be told stands in the table; nothing is lost with this process.

use crate::clock::{Clock, rfc3339};
use crate::deliver::Endpoint;
use crate::delivery::Micros;
use crate::job::{Class, Outcome};
use crate::source::HttpDestination;
use crate::store::{Alarm, Sent, Store, StoreError, Subject};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The first wait after a failure; it doubles up to the longest one. A receiver that restarts is
/// back in seconds, and one that is down for long must not be flooded when it comes back.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// Beyond the time of a request, to note what became of it.
const NOTE_US: Micros = 10_000_000;

/// Sends.
pub(super) struct Sender {
    store: Store,
    clock: Clock,
    endpoint: Endpoint,
    timeout: Duration,
    unsent: Arc<Notify>,
    /// Failures in a row, and when to try again.
    failures: BTreeMap<Subject, (u32, Micros)>,
}

impl Sender {
    /// A sender to a destination, woken by `unsent`.
    pub(super) fn new(
        destination: &HttpDestination,
        store: Store,
        clock: Clock,
        unsent: Arc<Notify>,
    ) -> Result<Self, String> {
        let (endpoint, timeout) = (Endpoint::new(destination)?, destination.timeout);
        Ok(Self { store, clock, endpoint, timeout, unsent, failures: BTreeMap::new() })
    }

    /// Sends for ever what is to be sent.
    pub(super) async fn run(mut self) {
        loop {
            let again_us = self.failures.values().map(|(_, again_us)| *again_us).min();
            let wait_us = again_us.map_or(Micros::MAX, |again_us| again_us - self.clock.now_us());
            let wait = Duration::from_micros(u64::try_from(wait_us).unwrap_or(0));
            // Woken or not, there may be something to send.
            let _ = tokio::time::timeout(wait, self.unsent.notified()).await;
            if let Err(error) = self.once().await {
                tracing::warn!(%error, "could not look for alarms to send; trying again");
                tokio::time::sleep(AGAIN_FIRST).await;
            }
            // What was not tried again although its time has come is not there any more.
            let now_us = self.clock.now_us();
            self.failures.retain(|_, (_, again_us)| *again_us > now_us);
        }
    }

    /// Sends all that is to be sent now.
    async fn once(&mut self) -> Result<(), StoreError> {
        let lease_us = super::look::micros(self.timeout) + NOTE_US;
        while let Some(telling) = self.store.unsent(self.clock.now_us() + lease_us).await? {
            let alarm = &telling.alarm;
            let (id, body) = (id(alarm), body(alarm).to_string());
            let outcome = self.endpoint.post(&id, body.into(), self.clock.now_us()).await;
            let (sent, again_us) = self.judged(alarm, &outcome);
            self.store.sent(&telling, sent, again_us).await?;
        }
        Ok(())
    }

    /// What became of a request, and when to send it again if it did not arrive.
    fn judged(&mut self, alarm: &Alarm, outcome: &Outcome) -> (Sent, Micros) {
        let sent = match outcome.class {
            Class::Accepted => Sent::Arrived,
            Class::Uncertain => Sent::Unknown,
            Class::Refused | Class::Gone | Class::Failed | Class::Unreached => Sent::Refused,
        };
        if sent == Sent::Arrived {
            self.failures.remove(&alarm.about());
            return (sent, 0);
        }
        let (failures, again_us) = self.failures.entry(alarm.about()).or_default();
        let again = again(*failures);
        *failures += 1;
        *again_us = self.clock.now_us() + super::look::micros(again);
        let again_us = *again_us;
        tracing::warn!(
            cause = alarm.cause.word(),
            subject = alarm.subject,
            reason = outcome.detail,
            ?again,
            "the http destination was not told of an alarm"
        );
        (sent, again_us)
    }
}

fn again(failures: u32) -> Duration {
    AGAIN_FIRST.saturating_mul(2_u32.saturating_pow(failures)).min(AGAIN_MAX)
}

/// The same for every try, so that the receiver recognises a repeat.
fn id(alarm: &Alarm) -> String {
    let (state, cause) = (state(alarm), alarm.cause.word());
    format!("alarm:{cause}:{}:{}:{state}", alarm.subject, alarm.raised_us)
}

fn state(alarm: &Alarm) -> &'static str {
    if alarm.cleared_us.is_none() { "raised" } else { "cleared" }
}

fn body(alarm: &Alarm) -> serde_json::Value {
    json!({
        "alarm": alarm.cause.word(),
        "subject": alarm.subject,
        "state": state(alarm),
        "since": rfc3339(alarm.raised_us),
        "count": alarm.count,
        "detail": alarm.detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Cause;

    #[test]
    fn waits_double_up_to_a_minute() {
        let waits: Vec<u64> = [0, 1, 2, 5, 6, 40].map(|n| again(n).as_secs()).into();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60]);
    }

    #[test]
    fn the_beginning_and_the_end_have_ids_of_their_own() {
        let raised = Alarm::raised(&(Cause::Dead, "out/refused".to_owned()), 7);
        let cleared = Alarm { cleared_us: Some(9), ..raised.clone() };
        assert_eq!(id(&raised), "alarm:dead:out/refused:7:raised");
        assert_eq!(id(&cleared), "alarm:dead:out/refused:7:cleared");
    }
}

//! One event of a platform, of management or of banking: the body is the event.

use crate::text::{Unit, time_us};
use crate::{Event, Position, identity, json};

#[rustfmt::skip]
const FIELDS: [&str; 12] = [
    "/type", "/timestamp", "/data/updatedAt", "/data/creationDate", "/data/sequenceNumber",
    "/data/id", "/data/transfer/id", "/data/sweep/id", "/data/paymentInstrument/id",
    "/data/balanceAccount/id", "/data/accountHolder/id", "/data/storeId",
];

/// These webhooks have no id of their own. The body is signed and resent as it was, so its digest
/// is the same on every retry.
pub(super) fn event(body: &[u8]) -> Event {
    let fields = json::fields(body, FIELDS).unwrap_or_default();
    let [kind, first, second, third, sequence, about @ ..] = json::texts(&fields);
    let at = [first, second, third].into_iter().flatten();
    Event {
        key: identity::digest(&[body]),
        kind: identity::kind(&[kind.unwrap_or_default()]),
        entity: identity::entity(&[about.into_iter().flatten().next()]),
        position: Position {
            occurred_at_us: at.into_iter().find_map(|at| time_us(at, Unit::Seconds)),
            sequence: sequence.and_then(|number| number.parse().ok()),
        },
        volatile: &[],
        part: None,
    }
}

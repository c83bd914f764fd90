//! Notes what merely happened, in the transaction that records it.

use super::Cause;
use crate::delivery::Micros;
use crate::store::conn::Tx;
use crate::store::error::StoreError;
use crate::store::sql::{Arg, Column};
use std::collections::BTreeMap;

/// Time after which something that did not happen again is over: long enough to tell a series
/// from two incidents, short enough that the next one is told on the same day.
const CLEARS_AFTER_US: Micros = 15 * 60 * 1_000_000;

/// Something that happened to a source or a route.
pub(in crate::store) struct Note {
    pub(in crate::store) cause: Cause,
    pub(in crate::store) subject: String,
    /// One line: an example.
    pub(in crate::store) detail: String,
}

/// Notes what happened: a first time raises an alarm, a further one prolongs it. The rows of
/// alarms are locked last, after those of jobs.
pub(in crate::store) async fn note(
    tx: &mut Tx,
    notes: Vec<Note>,
    now_us: Micros,
) -> Result<(), StoreError> {
    let mut counted: BTreeMap<(&str, String), (i64, String)> = BTreeMap::new();
    for Note { cause, subject, detail } in notes {
        let entry = counted.entry((cause.word(), subject)).or_default();
        *entry = (entry.0 + 1, detail);
    }
    tx.run_rows(
        "WITH v(cause, subject, count, detail) AS ({rows})
         INSERT INTO alarms AS a (cause, subject, raised_us, last_us, count, detail, clears_us)
         SELECT cause, subject, $1, $1, count, detail, $2 FROM v WHERE true
         ORDER BY cause, subject
         ON CONFLICT (cause, subject) DO UPDATE SET last_us = excluded.last_us,
            detail = excluded.detail, clears_us = excluded.clears_us,
            count = CASE WHEN a.cleared_us IS NULL THEN a.count ELSE 0 END + excluded.count,
            raised_us = CASE WHEN a.cleared_us IS NULL THEN a.raised_us
                ELSE excluded.raised_us END,
            told_us = CASE WHEN a.cleared_us IS NULL THEN a.told_us END,
            sent = CASE WHEN a.cleared_us IS NULL OR a.sent = 0 THEN a.sent ELSE 2 END,
            cleared_us = NULL",
        vec![Arg::Int(now_us), Arg::Int(now_us + CLEARS_AFTER_US)],
        vec![
            Column::Text(counted.keys().map(|(cause, _)| (*cause).to_owned()).collect()),
            Column::Text(counted.keys().map(|(_, subject)| subject.clone()).collect()),
            Column::Int(counted.values().map(|(count, _)| *count).collect()),
            Column::Text(counted.values().map(|(_, detail)| detail.clone()).collect()),
        ],
    )
    .await?;
    Ok(())
}

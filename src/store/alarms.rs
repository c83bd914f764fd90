//! The table of alarms: raised, confirmed and cleared under its primary key.
//!
//! Several processes may do the same at the same time; each change names the alarm it was made
//! for, so whoever comes second changes nothing. What stands behind an alarm is found in
//! `standing`, who is told of it in `tell`. This file never decides what deserves an alarm.

mod note;
mod shape;
mod silence;
mod standing;
mod tell;

pub(super) use note::{Note, note};
pub use shape::{Alarm, COUNT_MAX, Cause, Evidence, Subject};
pub use silence::Heard;
pub use standing::Oldest;
pub use tell::{Sent, Telling};

use super::Store;
use super::conn::Row;
use super::error::StoreError;
use super::sql::{Arg, Column};

/// The columns that [`alarm`] reads.
macro_rules! columns {
    () => {
        "alarms.cause, alarms.subject, raised_us, last_us, count, detail, clears_us, told_us, \
         cleared_us, sent"
    };
}
pub(super) use columns;

/// Reads a row; `None` for a cause that only a later version knows.
fn alarm(row: &Row) -> Result<Option<Alarm>, StoreError> {
    let word = row.text(0)?;
    let Some(cause) = Cause::ALL.into_iter().find(|cause| cause.word() == word) else {
        return Ok(None);
    };
    Ok(Some(Alarm {
        cause,
        subject: row.text(1)?,
        raised_us: row.int(2)?,
        last_us: row.int(3)?,
        count: row.int(4)?,
        detail: row.text(5)?,
        clears_us: row.opt_int(6)?,
        told_us: row.opt_int(7)?,
        cleared_us: row.opt_int(8)?,
        sent: row.int(9)?,
    }))
}

fn read(rows: &[Row]) -> Result<Vec<Alarm>, StoreError> {
    rows.iter().filter_map(|row| alarm(row).transpose()).collect()
}

/// Names of alarms as rows: the cause, the subject, and when each was raised.
fn named<'a>(alarms: impl Iterator<Item = &'a Alarm> + Clone) -> Vec<Column> {
    vec![
        Column::Text(alarms.clone().map(|alarm| alarm.cause.word().to_owned()).collect()),
        Column::Text(alarms.clone().map(|alarm| alarm.subject.clone()).collect()),
        Column::Int(alarms.map(|alarm| alarm.raised_us).collect()),
    ]
}

fn shown(found: &[Evidence]) -> Vec<Column> {
    let texts = |read: fn(&Evidence) -> String| Column::Text(found.iter().map(read).collect());
    vec![
        texts(|one| one.about.0.word().to_owned()),
        texts(|one| one.about.1.clone()),
        Column::Int(found.iter().map(|one| one.count).collect()),
        texts(|one| one.detail.clone()),
    ]
}

impl Store {
    /// All alarms, the oldest first, those that have cleared and are still to be told among them.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, StoreError> {
        let text =
            concat!("SELECT ", columns!(), " FROM alarms ORDER BY raised_us, cause, subject");
        read(&self.pools.read(text, vec![]).await?)
    }

    /// Raises alarms. One that is there stays as it is, and so does the row of one that clears
    /// and of which the log has not been told; the next look raises it again.
    ///
    /// A destination that heard of an alarm and not yet of its end may now believe either, so it
    /// is told again.
    pub async fn raise(&self, found: &[Evidence]) -> Result<(), StoreError> {
        if found.is_empty() {
            return Ok(());
        }
        let text = "WITH v(cause, subject, count, detail) AS ({rows})
             INSERT INTO alarms AS a (cause, subject, raised_us, last_us, count, detail)
             SELECT cause, subject, $1, $1, count, detail FROM v WHERE true
             ORDER BY cause, subject
             ON CONFLICT (cause, subject) DO UPDATE SET raised_us = excluded.raised_us,
                last_us = excluded.last_us, count = excluded.count, detail = excluded.detail,
                told_us = NULL, cleared_us = NULL, clears_us = NULL,
                sent = CASE WHEN a.sent = 0 THEN 0 ELSE 2 END
             WHERE a.cleared_us <= a.told_us";
        let args = vec![Arg::Int(self.clock.now_us())];
        self.pools.write_rows_lazily(text, args, shown(found)).await.map(|_| ())
    }

    /// Notes that alarms still stand, so that nobody takes them for forgotten.
    pub async fn confirm(&self, found: &[Evidence]) -> Result<(), StoreError> {
        if found.is_empty() {
            return Ok(());
        }
        let text = "WITH v(cause, subject, count, detail) AS ({rows})
             UPDATE alarms SET last_us = $1, count = v.count, detail = v.detail FROM v
             WHERE alarms.cause = v.cause AND alarms.subject = v.subject
                AND alarms.cleared_us IS NULL";
        let args = vec![Arg::Int(self.clock.now_us())];
        self.pools.write_rows_lazily(text, args, shown(found)).await.map(|_| ())
    }

    /// Clears alarms of which the log has been told. One that has been raised anew meanwhile, or
    /// was prolonged because it happened again, stands.
    pub async fn clear(&self, alarms: &[Alarm]) -> Result<(), StoreError> {
        if alarms.is_empty() {
            return Ok(());
        }
        // Later than the telling in any case, whatever the clocks of two machines say.
        let text = "WITH v(cause, subject, raised_us) AS ({rows})
             UPDATE alarms SET
                cleared_us = CASE WHEN told_us >= $1 THEN told_us + 1 ELSE $1 END FROM v
             WHERE alarms.cause = v.cause AND alarms.subject = v.subject
                AND alarms.raised_us = v.raised_us AND told_us IS NOT NULL
                AND cleared_us IS NULL AND (clears_us IS NULL OR clears_us <= $1)";
        let args = vec![Arg::Int(self.clock.now_us())];
        self.pools.write_rows_lazily(text, args, named(alarms.iter())).await.map(|_| ())
    }
}

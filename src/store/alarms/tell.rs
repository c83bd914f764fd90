//! Who has been told of an alarm: first the log, then the http destination.
//!
//! Whoever tells takes the alarm for a while. When it dies meanwhile another one tells, so that
//! an alarm may be told twice, and never not at all.

use super::{Alarm, alarm, columns, named, read};
use crate::delivery::Micros;
use crate::store::Store;
use crate::store::error::StoreError;
use crate::store::sql::Arg;

/// An alarm that is being told to the http destination.
#[derive(Clone, Debug)]
pub struct Telling {
    /// The alarm; it has cleared if it says so.
    pub alarm: Alarm,
    /// Until when nobody else tells it.
    until_us: Micros,
}

/// What became of telling an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It arrived.
    Arrived,
    /// It did not.
    Refused,
    /// It may have arrived.
    Unknown,
}

/// What the destination knows of the alarm, as in the column `sent`.
const CANNOT_KNOW: i64 = 0;
const TRYING: i64 = 1;
const MAY_KNOW: i64 = 2;
const KNOWS: i64 = 3;

impl Alarm {
    /// Whether the http destination is to be told of its beginning or its end.
    pub fn is_unsent(&self) -> bool {
        match self.cleared_us {
            None => self.sent != KNOWS,
            Some(_) => self.sent != CANNOT_KNOW,
        }
    }
}

impl Store {
    /// Takes the alarms whose beginning or end the log has not been told. Until a time nobody
    /// else takes them.
    pub async fn untold(&self, until_us: Micros) -> Result<Vec<Alarm>, StoreError> {
        let text = concat!(
            "UPDATE alarms SET telling_until_us = $2
             WHERE (telling_until_us IS NULL OR telling_until_us <= $1)
                AND (told_us IS NULL OR told_us < cleared_us) RETURNING ",
            columns!()
        );
        let args = vec![Arg::Int(self.clock.now_us()), Arg::Int(until_us)];
        let mut alarms = read(&self.pools.write_lazily(text, args).await?)?;
        alarms.sort_by_key(|alarm| alarm.raised_us);
        Ok(alarms)
    }

    /// Notes that the log has been told.
    pub async fn told(&self, alarms: &[Alarm]) -> Result<(), StoreError> {
        if alarms.is_empty() {
            return Ok(());
        }
        let text = "WITH v(cause, subject, raised_us) AS ({rows})
             UPDATE alarms SET telling_until_us = NULL,
                told_us = CASE WHEN cleared_us > $1 THEN cleared_us ELSE $1 END
             FROM v WHERE alarms.cause = v.cause AND alarms.subject = v.subject
                AND alarms.raised_us = v.raised_us";
        let args = vec![Arg::Int(self.clock.now_us())];
        self.pools.write_rows_lazily(text, args, named(alarms.iter())).await.map(|_| ())
    }

    /// Takes the next alarm whose beginning, or whose end if it may know the beginning, the http
    /// destination has not been told. Until a time nobody else takes it.
    pub async fn unsent(&self, until_us: Micros) -> Result<Option<Telling>, StoreError> {
        let text = concat!(
            "WITH due AS MATERIALIZED (SELECT cause, subject FROM alarms
                WHERE (sending_until_us IS NULL OR sending_until_us <= $1)
                AND ((cleared_us IS NULL AND told_us IS NOT NULL AND sent <> 3)
                    OR (cleared_us <= told_us AND sent <> 0))
                ORDER BY raised_us LIMIT 1 {skip_locked})
             UPDATE alarms SET sending_until_us = $2,
                sent = CASE WHEN sent < 2 THEN sent + 1 ELSE sent END
             FROM due WHERE alarms.cause = due.cause AND alarms.subject = due.subject
             RETURNING ",
            columns!()
        );
        let args = vec![Arg::Int(self.clock.now_us()), Arg::Int(until_us)];
        let rows = self.pools.write_lazily(text, args).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(alarm(row)?.map(|alarm| Telling { alarm, until_us }))
    }

    /// Notes what became of telling. What did not arrive is told again after `again_us`.
    pub async fn sent(
        &self,
        telling: &Telling,
        sent: Sent,
        again_us: Micros,
    ) -> Result<(), StoreError> {
        let alarm = &telling.alarm;
        let is_end = alarm.cleared_us.is_some();
        let (known, next_us) = match sent {
            Sent::Arrived if is_end => (CANNOT_KNOW, None),
            Sent::Arrived => (KNOWS, None),
            Sent::Refused if is_end => (KNOWS, Some(again_us)),
            Sent::Refused if alarm.sent == TRYING => (CANNOT_KNOW, Some(again_us)),
            Sent::Refused | Sent::Unknown => (MAY_KNOW, Some(again_us)),
        };
        // Another number: it was raised anew meanwhile, and this was about the one before.
        let text = "UPDATE alarms SET sending_until_us = $5,
                sent = CASE WHEN raised_us = $3 THEN $6 ELSE sent END
             WHERE cause = $1 AND subject = $2 AND sending_until_us = $4";
        let args = vec![
            Arg::Text(alarm.cause.word().into()),
            Arg::Text(alarm.subject.clone()),
            Arg::Int(alarm.raised_us),
            Arg::Int(telling.until_us),
            Arg::OptInt(next_us),
            Arg::Int(known),
        ];
        self.pools.write_lazily(text, args).await.map(|_| ())
    }

    /// Removes the alarms whose end has been told to everybody who knew the beginning, and those
    /// that ended before a time, because nobody tells the http destination any more.
    pub async fn remove_told(&self, abandoned_us: Micros) -> Result<(), StoreError> {
        let text = "DELETE FROM alarms
             WHERE cleared_us <= told_us AND (sent = 0 OR cleared_us < $1)";
        self.pools.write_lazily(text, vec![Arg::Int(abandoned_us)]).await.map(|_| ())
    }
}

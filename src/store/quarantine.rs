//! Refused requests, one by one: bounded in count, bytes and age.

use super::body::{self, Stored};
use super::conn::Row;
use super::contended::while_contended;
use super::error::StoreError;
use super::operate::operation;
use super::sql::{Arg, Column};
use super::{QuarantineView, Store};
use crate::clock::Time;
use crate::delivery::{KeptHeaders, Micros};
use bytes::Bytes;

/// A refused request on its way into the quarantine.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The source's name.
    pub source: String,
    /// When it was complete, by the wall clock: signed times are judged by that.
    pub received_us: Micros,
    /// A label from a closed set, such as `signature`.
    pub reason: String,
    /// Why it was refused, in a sentence.
    pub detail: String,
    /// The likely cause, as a label and in words, if it was looked for.
    pub cause: Option<(String, String)>,
    /// Header lines that may be shown.
    pub headers: Vec<u8>,
    /// The rest of the head, encrypted.
    pub sealed: Vec<u8>,
    /// Bytes of the body.
    pub body_bytes: usize,
    /// The body, unless it is too long to be kept.
    pub body: Option<Bytes>,
}

/// A refused request out of the quarantine.
#[derive(Clone, Debug)]
pub struct Quarantined {
    /// What may be shown of it.
    pub view: QuarantineView,
    /// The rest of its head, encrypted.
    pub sealed: Vec<u8>,
    /// The body; `None` if it was too long to be kept.
    pub body: Option<Bytes>,
}

/// The columns of what may be shown.
macro_rules! shown {
    () => {
        "SELECT id, source, received_us, reason, detail, cause, likely, headers, body_bytes,
            encoding"
    };
}

impl Store {
    /// Keeps refused requests, and of each of their sources no more than so many and so many bytes:
    /// the oldest give way.
    pub async fn quarantine(
        &self,
        refused: &[Refused],
        count: usize,
        bytes: usize,
    ) -> Result<(), StoreError> {
        // Two processes may make room for the same source at the same time.
        while_contended(|| self.quarantine_once(refused, count, bytes)).await
    }

    async fn quarantine_once(
        &self,
        refused: &[Refused],
        count: usize,
        bytes: usize,
    ) -> Result<(), StoreError> {
        let nothing = Bytes::new();
        let pack = |one: &Refused| match &one.body {
            Some(body) => body::pack(body),
            None => Stored { encoding: "forgotten", bytes: nothing.clone() },
        };
        let stored: Vec<Stored> = refused.iter().map(pack).collect();
        let mut sources: Vec<String> = refused.iter().map(|one| one.source.clone()).collect();
        sources.sort_unstable();
        sources.dedup();
        let mut tx = self.pools.begin().await?;
        tx.run_rows(
            "WITH v(source, received_us, reason, detail, cause, likely, headers, sealed, kept_bytes,
                body_bytes, encoding, body) AS ({rows})
             INSERT INTO quarantine (source, received_us, reason, detail, cause, likely, headers,
                sealed, kept_bytes, body_bytes, encoding, body) SELECT * FROM v",
            vec![],
            columns(refused, &stored),
        )
        .await?;
        for source in sources {
            tx.run(
                "DELETE FROM quarantine WHERE id IN (SELECT id FROM (
                    SELECT id, row_number() OVER (ORDER BY id DESC) AS n,
                        sum(kept_bytes) OVER (ORDER BY id DESC) AS bytes
                    FROM quarantine WHERE source = $1) AS numbered WHERE n > $2 OR bytes > $3)",
                vec![Arg::Text(source), Arg::Int(count as i64), Arg::Int(bytes as i64)],
            )
            .await?;
        }
        tx.commit().await
    }

    /// Forgets what was refused before.
    pub async fn release_before(&self, before_us: Micros) -> Result<(), StoreError> {
        let text = "DELETE FROM quarantine WHERE received_us < $1";
        self.pools.write_lazily(text, vec![Arg::Int(before_us)]).await.map(|_| ())
    }

    /// Refused requests, the latest first. An empty source means any.
    pub async fn quarantined(
        &self,
        source: &str,
        before: Option<i64>,
        count: i64,
    ) -> Result<Vec<QuarantineView>, StoreError> {
        let text = concat!(
            shown!(),
            " FROM quarantine WHERE ($1 = '' OR source = $1) AND id < $2
             ORDER BY id DESC LIMIT $3"
        );
        let before = Arg::Int(before.unwrap_or(i64::MAX));
        let rows = self.pools.read(text, vec![Arg::Text(source.into()), before, Arg::Int(count)]);
        rows.await?.iter().map(view).collect()
    }

    /// The numbers of refused requests, the oldest first. An empty source means any.
    pub async fn quarantined_ids(&self, source: &str) -> Result<Vec<i64>, StoreError> {
        let text = "SELECT id FROM quarantine WHERE ($1 = '' OR source = $1) ORDER BY id";
        let rows = self.pools.read(text, vec![Arg::Text(source.into())]).await?;
        rows.iter().map(|row| row.int(0)).collect()
    }

    /// One refused request with all that is kept of it.
    pub async fn quarantined_one(&self, id: i64) -> Result<Option<Quarantined>, StoreError> {
        let text = concat!(shown!(), ", sealed, body FROM quarantine WHERE id = $1");
        let rows = self.pools.read(text, vec![Arg::Int(id)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let body = body::unpack(&row.text(9)?, row.blob(11)?, row.int(8)?)?;
        Ok(Some(Quarantined { view: view(row)?, sealed: row.blob(10)?, body }))
    }

    /// Takes a refused request out because it is recorded now, and writes down who wanted it.
    pub async fn promoted(&self, id: i64, recorded: &str) -> Result<(), StoreError> {
        let mut tx = self.pools.begin().await?;
        tx.run("DELETE FROM quarantine WHERE id = $1", vec![Arg::Int(id)]).await?;
        let subject = format!("rejection {id}");
        operation(&mut tx, "promote", &subject, recorded, self.clock.now_us()).await?;
        tx.commit().await
    }
}

fn columns(refused: &[Refused], stored: &[Stored]) -> Vec<Column> {
    let text = |read: fn(&Refused) -> String| Column::Text(refused.iter().map(read).collect());
    let kept = |(one, stored): (&Refused, &Stored)| {
        (one.headers.len() + one.sealed.len() + stored.bytes.len()) as i64
    };
    let cause = |one: &Refused| one.cause.as_ref().map(|(cause, _)| cause.clone());
    let likely = |one: &Refused| one.cause.as_ref().map(|(_, likely)| likely.clone());
    vec![
        text(|one| one.source.clone()),
        Column::Int(refused.iter().map(|one| one.received_us).collect()),
        text(|one| one.reason.clone()),
        text(|one| one.detail.clone()),
        Column::OptText(refused.iter().map(cause).collect()),
        Column::OptText(refused.iter().map(likely).collect()),
        Column::Blob(refused.iter().map(|one| one.headers.clone()).collect()),
        Column::Blob(refused.iter().map(|one| one.sealed.clone()).collect()),
        Column::Int(refused.iter().zip(stored).map(kept).collect()),
        Column::Int(refused.iter().map(|one| one.body_bytes as i64).collect()),
        Column::Text(stored.iter().map(|stored| stored.encoding.to_owned()).collect()),
        Column::Blob(stored.iter().map(|stored| stored.bytes.to_vec()).collect()),
    ]
}

fn view(row: &Row) -> Result<QuarantineView, StoreError> {
    let headers = KeptHeaders::from_bytes(&row.blob(7)?).0.into_iter();
    Ok(QuarantineView {
        id: row.int(0)?.to_string(),
        source: row.text(1)?,
        received_at: Time(row.int(2)?),
        reason: row.text(3)?,
        detail: row.text(4)?,
        cause: row.opt_text(5)?,
        likely: row.opt_text(6)?,
        headers: headers.map(|(name, value)| (name, value.escape_ascii().to_string())).collect(),
        body_bytes: row.int(8)?,
        body_kept: row.text(9)? != "forgotten",
    })
}

//! New deliveries enter the ledger under numbers that grow with their arrival.
//!
//! What is new is for the unique constraint to say. Repeats are left to `repeat`.

use super::conn::{Changed, Row, Tx};
use super::error::StoreError;
use super::record::Incoming;
use super::sql::{self, Arg, Column};
use crate::delivery::{Arrival, DeliveryId, coverage_word};
use std::collections::{BTreeMap, BTreeSet, HashMap};

macro_rules! inserting {
    ($number:literal) => {
        concat!(
            "WITH v(id, source, key, kind, entity, occurred_us, sequence, received_us, coverage,
                secret, fingerprint, headers, body_bytes, encoding, body) AS ({rows})
             INSERT INTO deliveries (id, source, key, kind, entity, occurred_us, sequence,
                received_us, coverage, secret, fingerprint, headers, body_bytes, encoding, body)
             SELECT ",
            $number,
            ", source, key, kind, entity, occurred_us, sequence, received_us, coverage, secret,
                fingerprint, headers, body_bytes, encoding, body
             FROM v WHERE true
             ON CONFLICT (source, key) DO NOTHING"
        )
    };
}

/// Inserts those that are new; their places and numbers. No two of them may have the same key.
/// `in_order` asks for numbers in the order of the places.
pub(super) async fn insert(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
    in_order: bool,
) -> Result<Vec<(usize, DeliveryId)>, StoreError> {
    match tx.is_shared() {
        true => insert_shared(tx, candidates, in_order).await,
        false => {
            let mut inserted = Vec::with_capacity(candidates.len());
            for candidates in candidates.chunks(sql::ROWS_MAX) {
                inserted.extend(insert_alone(tx, candidates).await?);
            }
            Ok(inserted)
        }
    }
}

/// Beside other processes: the statement that inserts also numbers, and says what is new.
async fn insert_shared(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
    in_order: bool,
) -> Result<Vec<(usize, DeliveryId)>, StoreError> {
    let numbers = match in_order {
        true => numbers(tx, candidates).await?,
        false => vec![None; candidates.len()],
    };
    let text = concat!(
        inserting!("coalesce(id, nextval('deliveries_id_seq'))"),
        " RETURNING source, key, id"
    );
    let rows = tx.run_rows(text, vec![], columns(numbers, candidates)).await?;
    let found = found(&rows, candidates)?;
    Ok(found.into_iter().map(|(at, id)| (candidates[at].0, id)).collect())
}

/// Which candidates rows of (source, key, id) are, by their index, and their numbers.
fn found(
    rows: &[Row],
    candidates: &[(usize, &Incoming)],
) -> Result<Vec<(usize, DeliveryId)>, StoreError> {
    let arrivals = candidates.iter().map(|(_, incoming)| &incoming.arrival);
    let keys = arrivals.map(|arrival| (arrival.source.to_string(), arrival.key.clone()));
    let places: HashMap<(String, String), usize> = keys.zip(0..).collect();
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(at) = places.get(&(row.text(0)?, row.text(1)?)) {
            found.push((*at, DeliveryId(row.int(2)?)));
        }
    }
    Ok(found)
}

/// Numbers in the order of the places: the candidates come in the order of their keys, and the
/// events of one body must stand in their lanes as they stand in the body.
async fn numbers(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
) -> Result<Vec<Option<i64>>, StoreError> {
    let text = "SELECT nextval('deliveries_id_seq') FROM generate_series(1, $1)";
    let rows = tx.run(text, vec![Arg::Int(candidates.len() as i64)]).await?;
    let numbers: BTreeSet<i64> = rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
    let places: BTreeSet<usize> = candidates.iter().map(|(at, _)| *at).collect();
    let numbered: BTreeMap<usize, i64> = places.into_iter().zip(numbers).collect();
    Ok(candidates.iter().map(|(at, _)| numbered.get(at).copied()).collect())
}

/// With nobody beside: numbers follow the last one in the order of the candidates, and where as
/// many rows were inserted as were given, all are new. A row for each of them, as above, cost 6 %
/// with full batches.
async fn insert_alone(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
) -> Result<Vec<(usize, DeliveryId)>, StoreError> {
    let text = inserting!(
        "id + (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'deliveries')"
    );
    let count = candidates.len() as i64;
    let numbers = (1..=count).map(Some).collect();
    let Changed { rows, last } = tx.change_rows(text, columns(numbers, candidates)).await?;
    let numbered = |found: Vec<(usize, DeliveryId)>| {
        found.into_iter().map(|(index, id)| (candidates[index].0, id)).collect()
    };
    if rows == count as u64 {
        return Ok(numbered((0..).zip((last - count + 1..=last).map(DeliveryId)).collect()));
    }
    if rows == 0 {
        return Ok(Vec::new());
    }
    // Among the last numbers there may be some from before; the last one tells where they end.
    let text = "SELECT source, key, id FROM deliveries WHERE id > $1 AND id <= $2 ORDER BY id";
    let near = tx.run(text, vec![Arg::Int(last - count), Arg::Int(last)]).await?;
    let mut found = found(&near, candidates)?;
    let before = found.last().map_or(last, |(index, id)| id.0 - 1 - *index as i64);
    found.retain(|(_, id)| id.0 > before);
    Ok(numbered(found))
}

fn columns(numbers: Vec<Option<i64>>, candidates: &[(usize, &Incoming)]) -> Vec<Column> {
    let arrivals = || candidates.iter().map(|(_, incoming)| &incoming.arrival);
    let stored = || candidates.iter().map(|(_, incoming)| &incoming.stored);
    let text = |read: fn(&Arrival) -> String| Column::Text(arrivals().map(read).collect());
    vec![
        Column::OptInt(numbers),
        text(|a| a.source.to_string()),
        text(|a| a.key.clone()),
        text(|a| a.kind.clone()),
        Column::OptText(arrivals().map(|a| a.entity.clone()).collect()),
        Column::OptInt(arrivals().map(|a| a.position.occurred_at_us).collect()),
        Column::OptInt(arrivals().map(|a| a.position.sequence).collect()),
        Column::Int(arrivals().map(|a| a.received_us).collect()),
        text(|a| coverage_word(a.coverage).into()),
        Column::OptInt(arrivals().map(|a| a.secret.map(|at| at as i64)).collect()),
        Column::Blob(arrivals().map(|a| a.fingerprint.to_vec()).collect()),
        Column::Blob(arrivals().map(|a| a.headers.clone()).collect()),
        Column::Int(arrivals().map(|a| a.body.len() as i64).collect()),
        Column::Text(stored().map(|stored| stored.encoding.to_owned()).collect()),
        Column::Blob(stored().map(|stored| stored.bytes.to_vec()).collect()),
    ]
}

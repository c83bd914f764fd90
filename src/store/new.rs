//! New deliveries enter the ledger under numbers that grow with their arrival.
//!
//! What is new is for the unique constraint to say. Repeats are left to `repeat`.

use super::conn::Tx;
use super::error::StoreError;
use super::record::Incoming;
use super::sql::{Arg, Column};
use crate::delivery::{Arrival, DeliveryId, coverage_word};
use std::collections::{BTreeMap, BTreeSet};

macro_rules! inserting {
    () => {
        "WITH v(id, source, key, kind, entity, occurred_us, sequence, received_us, coverage,
            secret, fingerprint, headers, body_bytes, encoding, body) AS ({rows})
         INSERT INTO deliveries (id, source, key, kind, entity, occurred_us, sequence,
            received_us, coverage, secret, fingerprint, headers, body_bytes, encoding, body)
         SELECT coalesce(id, {next_delivery}), source, key, kind, entity, occurred_us, sequence,
            received_us, coverage, secret, fingerprint, headers, body_bytes, encoding, body
         FROM v WHERE true
         ON CONFLICT (source, key) DO NOTHING"
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
        false => insert_alone(tx, candidates).await,
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
    let text = concat!(inserting!(), " RETURNING source, key, id");
    let rows = tx.run_rows(text, vec![], columns(numbers, candidates)).await?;
    let key = |(at, incoming): &(usize, &Incoming)| {
        ((incoming.arrival.source.to_string(), incoming.arrival.key.clone()), *at)
    };
    let places: BTreeMap<(String, String), usize> = candidates.iter().map(key).collect();
    let mut inserted = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(at) = places.get(&(row.text(0)?, row.text(1)?)) {
            inserted.push((*at, DeliveryId(row.int(2)?)));
        }
    }
    Ok(inserted)
}

/// Numbers in the order of the places: the candidates come in the order of their keys, and the
/// events of one body must stand in their lanes as they stand in the body.
async fn numbers(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
) -> Result<Vec<Option<i64>>, StoreError> {
    let text = "SELECT {next_delivery} FROM generate_series(1, $1)";
    let rows = tx.run(text, vec![Arg::Int(candidates.len() as i64)]).await?;
    let numbers: BTreeSet<i64> = rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
    let places: BTreeSet<usize> = candidates.iter().map(|(at, _)| *at).collect();
    let numbered: BTreeMap<usize, i64> = places.into_iter().zip(numbers).collect();
    Ok(candidates.iter().map(|(at, _)| numbered.get(at).copied()).collect())
}

/// With nobody beside: numbers follow the last one, and where as many rows were inserted as were
/// given, all are new. A row for each of them cost 6 % with full batches.
async fn insert_alone(
    tx: &mut Tx,
    candidates: &[(usize, &Incoming)],
) -> Result<Vec<(usize, DeliveryId)>, StoreError> {
    let text = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'deliveries'";
    let rows = tx.run(text, vec![]).await?;
    let last = rows.first().map_or(Ok(0), |row| row.int(0))?;
    let numbers = (last + 1..).map(Some).take(candidates.len()).collect();
    let changed = tx.change_rows(inserting!(), vec![], columns(numbers, candidates)).await?;
    let numbered = candidates.iter().zip(last + 1..);
    let mut inserted: Vec<(usize, DeliveryId)> =
        numbered.map(|((at, _), number)| (*at, DeliveryId(number))).collect();
    if changed < candidates.len() as u64 {
        let text = "SELECT id FROM deliveries WHERE id > $1";
        let rows = tx.run(text, vec![Arg::Int(last)]).await?;
        let new: BTreeSet<i64> = rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
        inserted.retain(|(_, id)| new.contains(&id.0));
    }
    Ok(inserted)
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

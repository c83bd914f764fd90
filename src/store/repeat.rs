//! Repeats: an arrival whose key is taken is a duplicate, a conflict or a revival.
//!
//! The first delivery always stands; a repeat only changes its counters and may put dead jobs
//! back into the queue.

use super::alarms::{Cause, Note, note};
use super::body;
use super::conn::Tx;
use super::error::StoreError;
use super::receipts;
use super::reopen::{self, Again};
use super::sql::{Arg, Column};
use super::wake::Due;
use crate::delivery::{Arrival, DeliveryId, KeptHeaders, Micros, Recorded, Verdict};
use crate::job::{JobId, State};
use providers::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// An arrival whose key is taken, and its place in the batch.
pub(super) struct Repeat<'a> {
    pub(super) index: usize,
    pub(super) arrival: &'a Arrival,
}

/// What is known of the delivery that came first.
struct First {
    id: DeliveryId,
    fingerprint: Vec<u8>,
    received_us: Micros,
}

/// A repeat that has been compared with the first: its place, the first one, and whether they
/// say the same.
pub(super) struct Judged {
    index: usize,
    source: Arc<str>,
    pub(super) first: DeliveryId,
    first_us: Micros,
    pub(super) same: bool,
}

/// Compares repeats with what came first and counts them there.
pub(super) async fn judge(
    tx: &mut Tx,
    repeats: &[Repeat<'_>],
    now_us: Micros,
) -> Result<Vec<Judged>, StoreError> {
    if repeats.is_empty() {
        return Ok(Vec::new());
    }
    let firsts = find(tx, repeats).await?;
    let mut judged = Vec::new();
    let mut counts: BTreeMap<DeliveryId, (i64, i64)> = BTreeMap::new();
    for repeat in repeats {
        let key = (repeat.arrival.source.to_string(), repeat.arrival.key.clone());
        // The key was there a statement ago: only retention can have taken it since.
        let first = firsts
            .get(&key)
            .ok_or_else(|| StoreError::Contended("a delivery was pruned meanwhile".into()))?;
        let same = first.fingerprint == repeat.arrival.fingerprint
            || same_content(tx, first.id, repeat.arrival).await?;
        let count = counts.entry(first.id).or_default();
        if same {
            count.0 += 1
        } else {
            count.1 += 1
        }
        let (index, source) = (repeat.index, repeat.arrival.source.clone());
        let (first, first_us) = (first.id, first.received_us);
        judged.push(Judged { index, source, first, first_us, same });
    }
    let totals = count(tx, &counts, now_us).await?;
    receipts::note(tx, repeats, &judged, totals).await?;
    Ok(judged)
}

/// Puts the dead jobs of duplicates back and says what each repeat came to, by its place.
pub(super) async fn revive(
    tx: &mut Tx,
    judged: Vec<Judged>,
    now_us: Micros,
    due: &mut Due,
) -> Result<HashMap<usize, Recorded>, StoreError> {
    let firsts: BTreeSet<DeliveryId> = judged.iter().map(|judged| judged.first).collect();
    let firsts: Vec<DeliveryId> = firsts.into_iter().collect();
    let mut states = states_of(tx, firsts.clone()).await?;
    let duplicates = judged.iter().filter(|judged| judged.same);
    let dead: BTreeSet<JobId> = duplicates
        .flat_map(|judged| states.get(&judged.first).into_iter().flatten())
        .filter(|(_, state)| *state == State::Dead)
        .map(|(job, _)| *job)
        .collect();
    let dead: Vec<Again> = dead.into_iter().map(Again::live).collect();
    let revived = reopen::reopen(tx, State::Dead, &dead, now_us).await?;
    due.extend(revived.due);
    if !revived.jobs.is_empty() {
        // A revived job may wait for its lane, so what it came to is read, not guessed.
        states = states_of(tx, firsts).await?;
    }
    note(tx, judged.iter().filter_map(conflict).collect(), now_us).await?;
    let revived: BTreeSet<DeliveryId> = revived.jobs.iter().map(|job| job.delivery()).collect();
    let recorded = judged.into_iter().map(|Judged { index, first: id, first_us, same, .. }| {
        let now = states.get(&id).into_iter().flatten().map(|(_, state)| *state);
        let verdict = match (same, revived.contains(&id)) {
            (false, _) => Verdict::Conflict,
            (true, true) => Verdict::Revived,
            (true, false) => Verdict::Duplicate,
        };
        let state = State::summary(now);
        (index, Recorded { id, verdict, state, first_us: Some(first_us) })
    });
    Ok(recorded.collect())
}

fn conflict(judged: &Judged) -> Option<Note> {
    let detail = format!("other content for delivery {}", judged.first);
    let subject = judged.source.to_string();
    (!judged.same).then_some(Note { cause: Cause::Conflict, subject, detail })
}

/// The deliveries that came first, by (source, key).
async fn find(
    tx: &mut Tx,
    repeats: &[Repeat<'_>],
) -> Result<HashMap<(String, String), First>, StoreError> {
    let keys: BTreeSet<(&str, &str)> =
        repeats.iter().map(|r| (&*r.arrival.source, &*r.arrival.key)).collect();
    let (sources, keys) = keys.into_iter().map(|(s, k)| (s.to_owned(), k.to_owned())).unzip();
    let rows = tx
        .run_rows(
            "WITH v(source, key) AS ({rows})
             SELECT d.source, d.key, d.id, d.fingerprint, d.received_us
             FROM v JOIN deliveries d ON d.source = v.source AND d.key = v.key",
            vec![],
            vec![Column::Text(sources), Column::Text(keys)],
        )
        .await?;
    rows.iter()
        .map(|row| {
            let (id, received_us) = (DeliveryId(row.int(2)?), row.int(4)?);
            let first = First { id, fingerprint: row.blob(3)?, received_us };
            Ok(((row.text(0)?, row.text(1)?), first))
        })
        .collect()
}

/// Whether two bodies say the same once order, spaces and volatile fields are left out. A body
/// that retention has forgotten cannot be compared; its repeat counts as the same.
async fn same_content(
    tx: &mut Tx,
    first: DeliveryId,
    arrival: &Arrival,
) -> Result<bool, StoreError> {
    let rows = tx
        .run(
            "SELECT encoding, body, body_bytes, headers FROM deliveries WHERE id = $1",
            vec![Arg::Int(first.0)],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(true) };
    let Some(kept) = body::unpack(&row.text(0)?, row.blob(1)?, row.int(2)?)? else {
        return Ok(true);
    };
    let volatile: Vec<&str> = arrival.volatile.iter().map(String::as_str).collect();
    let canonical = |headers: &[u8], body: &[u8]| {
        let headers = KeptHeaders::from_bytes(headers);
        json::canonical(&json::view(headers.get("content-type"), body), &volatile)
    };
    let kept = canonical(&row.blob(3)?, &kept);
    Ok(kept.is_some() && kept == canonical(&arrival.headers, &arrival.body))
}

/// The jobs of deliveries and how they stand. A job that was replayed is spoken for by its
/// replay.
pub(super) async fn states_of(
    tx: &mut Tx,
    ids: Vec<DeliveryId>,
) -> Result<HashMap<DeliveryId, Vec<(JobId, State)>>, StoreError> {
    let rows = tx
        .run_rows(
            "WITH v(id) AS ({rows})
             SELECT j.id, j.state FROM v
             JOIN jobs j ON j.id >= v.id * 4096 AND j.id < v.id * 4096 + 4096
             WHERE NOT EXISTS (SELECT 1 FROM jobs r WHERE r.id > j.id
                AND r.id < v.id * 4096 + 4096 AND r.replays = j.id)",
            vec![],
            vec![Column::Int(ids.iter().map(|id| id.0).collect())],
        )
        .await?;
    let mut states: HashMap<DeliveryId, Vec<(JobId, State)>> = HashMap::new();
    for row in &rows {
        let job = JobId(row.int(0)?);
        states.entry(job.delivery()).or_default().push((job, super::state(&row.text(1)?)?));
    }
    Ok(states)
}

/// Counts repeats; the totals of each delivery.
async fn count(
    tx: &mut Tx,
    counts: &BTreeMap<DeliveryId, (i64, i64)>,
    now_us: Micros,
) -> Result<BTreeMap<DeliveryId, i64>, StoreError> {
    let rows = tx
        .run_rows(
            "WITH v(id, repeats, conflicts) AS ({rows})
         UPDATE deliveries SET repeats = deliveries.repeats + v.repeats,
            conflicts = deliveries.conflicts + v.conflicts, repeated_us = $1
         FROM v WHERE deliveries.id = v.id
         RETURNING deliveries.id, deliveries.repeats + deliveries.conflicts",
            vec![Arg::Int(now_us)],
            vec![
                Column::Int(counts.keys().map(|id| id.0).collect()),
                Column::Int(counts.values().map(|(repeats, _)| *repeats).collect()),
                Column::Int(counts.values().map(|(_, conflicts)| *conflicts).collect()),
            ],
        )
        .await?;
    rows.iter().map(|row| Ok((DeliveryId(row.int(0)?), row.int(1)?))).collect()
}

//! `record`: arrivals become deliveries, dedup keys and jobs in one transaction.
//!
//! The unique constraint on (source, key) decides what is new; nothing is checked first. This
//! file never answers anybody: the caller does, after the commit.

use super::body;
use super::conn::{Pools, Tx};
use super::error::StoreError;
use super::lanes::{self, Change};
use super::repeat::{self, Repeat};
use super::sql::{Arg, Column};
use crate::delivery::{Arrival, DeliveryId, Micros, Recorded, Verdict, coverage_word};
use crate::job::{JobId, LaneId, State};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What a batch came to: one result an arrival, in the same order, and the routes with new work.
pub(super) struct Batch {
    pub(super) recorded: Vec<Recorded>,
    pub(super) routes: BTreeSet<Arc<str>>,
}

/// An arrival with its body as it will be stored: packed before it gets in line, where many
/// threads can, and not by the one that writes.
pub(super) struct Incoming {
    pub(super) arrival: Arrival,
    pub(super) stored: body::Stored,
}

/// Records a batch in one transaction.
pub(super) async fn batch(
    pools: &Pools,
    incoming: &[Incoming],
    now_us: Micros,
) -> Result<Batch, StoreError> {
    let mut tx = pools.begin().await?;
    let mut batch = Batch { recorded: Vec::new(), routes: BTreeSet::new() };
    // Sorted by key: two batches on two machines then wait for each other's keys in one order.
    let mut first: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (index, Incoming { arrival, .. }) in incoming.iter().enumerate() {
        first.entry((&arrival.source, &arrival.key)).or_insert(index);
    }
    let candidates: Vec<&Incoming> = first.values().map(|index| &incoming[*index]).collect();
    let mut inserted: Vec<Option<DeliveryId>> = vec![None; incoming.len()];
    for (source, key, id) in insert(&mut tx, &candidates).await? {
        if let Some(index) = first.get(&(&*source, &*key)) {
            inserted[*index] = Some(id);
        }
    }
    let arrivals = || incoming.iter().map(|incoming| &incoming.arrival).zip(&inserted).enumerate();
    // Deliveries before lanes, as everywhere: so nobody waits in a circle.
    let repeats = arrivals().filter(|(_, (_, id))| id.is_none());
    let repeats: Vec<Repeat> =
        repeats.map(|(index, (arrival, _))| Repeat { index, arrival }).collect();
    let judged = repeat::judge(&mut tx, &repeats, now_us).await?;
    let new = arrivals().filter_map(|(_, (arrival, id))| Some(((*id)?, arrival)));
    let states = make_jobs(&mut tx, &new.collect::<Vec<_>>(), now_us, &mut batch.routes).await?;
    let mut repeated = repeat::revive(&mut tx, judged, now_us, &mut batch.routes).await?;
    for (index, (_, id)) in arrivals() {
        let accepted = |id: &DeliveryId| Recorded {
            id: *id,
            verdict: Verdict::Accepted,
            state: states.get(id).copied(),
        };
        batch.recorded.extend(id.as_ref().map(accepted).or_else(|| repeated.remove(&index)));
    }
    notify(&mut tx, &batch.routes).await?;
    tx.commit().await?;
    Ok(batch)
}

/// Inserts what is new and returns its sources, keys and numbers.
async fn insert(
    tx: &mut Tx,
    incoming: &[&Incoming],
) -> Result<Vec<(String, String, DeliveryId)>, StoreError> {
    let arrivals = || incoming.iter().map(|incoming| &incoming.arrival);
    let stored = || incoming.iter().map(|incoming| &incoming.stored);
    let text = |read: fn(&Arrival) -> String| Column::Text(arrivals().map(read).collect());
    let columns = vec![
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
    ];
    let rows = tx
        .run_rows(
            "WITH v(source, key, kind, entity, occurred_us, sequence, received_us, coverage,
                secret, fingerprint, headers, body_bytes, encoding, body) AS ({rows})
             INSERT INTO deliveries (source, key, kind, entity, occurred_us, sequence, received_us,
                coverage, secret, fingerprint, headers, body_bytes, encoding, body)
             SELECT * FROM v WHERE true
             ON CONFLICT (source, key) DO NOTHING RETURNING source, key, id",
            vec![],
            columns,
        )
        .await?;
    rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?, DeliveryId(row.int(2)?)))).collect()
}

/// Makes the jobs of new deliveries: the first of an empty lane is ready, the others wait.
async fn make_jobs(
    tx: &mut Tx,
    new: &[(DeliveryId, &Arrival)],
    now_us: Micros,
    routes: &mut BTreeSet<Arc<str>>,
) -> Result<HashMap<DeliveryId, State>, StoreError> {
    let mut planned: Vec<_> = new
        .iter()
        .flat_map(|(id, arrival)| {
            let numbered = arrival.jobs.iter().enumerate();
            numbered.map(move |(n, plan)| (JobId::new(*id, n as i64), plan, *arrival))
        })
        .collect();
    planned.sort_by_key(|(id, ..)| *id);
    let mut changes: BTreeMap<LaneId, Change> = BTreeMap::new();
    for (_, plan, arrival) in &planned {
        let Some(lane) = plan.lane else { continue };
        let entry = changes.entry(lane).or_insert_with(|| Change {
            route: plan.route.clone(),
            entity: arrival.entity.clone().unwrap_or_default(),
            delta: 0,
        });
        entry.delta += 1;
    }
    let added: BTreeMap<LaneId, i64> = changes.iter().map(|(lane, c)| (*lane, c.delta)).collect();
    let mut standings = lanes::advance(tx, changes, now_us).await?;
    standings.retain(|lane, standing| added.get(lane) == Some(&standing.open));

    let mut states = HashMap::new();
    let (mut ids, mut names, mut lane_column) = (Vec::new(), Vec::new(), Vec::new());
    let (mut words, mut due, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    for (id, plan, _) in &planned {
        // Only the first job of an empty lane finds its standing here.
        let head = plan.lane.map(|lane| standings.remove(&lane));
        let ready = !matches!(head, Some(None));
        let state = if ready { State::Ready } else { State::Waiting };
        ids.push(id.0);
        names.push(plan.route.to_string());
        lane_column.push(plan.lane.map(|lane| lane.0));
        words.push(state.word().to_owned());
        due.push(ready.then_some(now_us));
        sequences.push(head.flatten().map(|standing| standing.sequence));
        states.entry(id.delivery()).or_insert(state);
        if ready {
            routes.insert(plan.route.clone());
        }
    }
    tx.run_rows(
        "WITH v(id, route, lane, state, due_us, sequence) AS ({rows})
         INSERT INTO jobs (id, route, lane, state, due_us, sequence, created_us, since_us)
         SELECT id, route, lane, state, due_us, sequence, $1, $1 FROM v",
        vec![Arg::Int(now_us)],
        vec![
            Column::Int(ids),
            Column::Text(names),
            Column::OptInt(lane_column),
            Column::Text(words),
            Column::OptInt(due),
            Column::OptInt(sequences),
        ],
    )
    .await?;
    Ok(states)
}

/// Tells the other processes, when this commits, which routes have work: once a batch, because
/// a trigger for every row cost a tenth to four fifths of the rate.
pub(super) async fn notify(tx: &mut Tx, routes: &BTreeSet<Arc<str>>) -> Result<(), StoreError> {
    if !tx.is_shared() || routes.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = routes.iter().map(|route| &**route).collect();
    tx.run("SELECT pg_notify('posthouse_jobs', $1)::text", vec![Arg::Text(names.join(","))])
        .await?;
    Ok(())
}

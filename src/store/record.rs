//! `record`: arrivals become deliveries, dedup keys and jobs in one transaction.
//!
//! The unique constraint on (source, key) decides what is new; nothing is checked first. The events
//! of one request are recorded all or none, so that what its sender hears is true of all of them.
//! This file never answers anybody: the caller does, once the commit is durable.

use super::body;
use super::conn::{Pools, Tx};
use super::enter::{Entered, Entering, enter};
use super::error::StoreError;
use super::group::{Carried, Turn};
use super::new;
use super::promote::SUPERSEDED;
use super::repeat::{self, Repeat};
use super::sql::{Arg, Column};
use super::wake::Due;
use crate::delivery::{Arrival, DeliveryId, Micros, Recorded, Verdict};
use crate::job::{JobId, State};
use std::collections::{BTreeMap, HashMap};

/// An arrival with its body as it will be stored: packed before it gets in line, where many
/// threads can, and not by the one that writes.
pub(super) struct Incoming {
    pub(super) arrival: Arrival,
    pub(super) stored: body::Stored,
}

/// Records the arrivals of several requests in one transaction: one result an arrival, by requests
/// and in the same order.
pub(super) async fn batch(
    pools: &Pools,
    requests: &[Vec<Incoming>],
    turn: &Turn,
    now_us: Micros,
) -> Result<Carried<Vec<Recorded>>, StoreError> {
    let incoming: Vec<&Incoming> = requests.iter().flatten().collect();
    let mut tx = pools.begin().await?;
    let mut due = Due::default();
    // Sorted by key: two batches on two machines then wait for each other's keys in one order.
    let mut first: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (index, Incoming { arrival, .. }) in incoming.iter().copied().enumerate() {
        first.entry((&arrival.source, &arrival.key)).or_insert(index);
    }
    let mut candidates: Vec<usize> = first.into_values().collect();
    if !tx.is_shared() {
        // SQLite's one writer waits for nobody: numbers in the order of arrival.
        candidates.sort_unstable();
    }
    let candidates: Vec<(usize, &Incoming)> =
        candidates.into_iter().map(|index| (index, incoming[index])).collect();
    let several = requests.iter().any(|request| request.len() > 1);
    let mut inserted: Vec<Option<DeliveryId>> = vec![None; incoming.len()];
    for (index, id) in new::insert(&mut tx, &candidates, several).await? {
        inserted[index] = Some(id);
    }
    let arrivals = || incoming.iter().map(|incoming| &incoming.arrival).zip(&inserted).enumerate();
    // Deliveries before lanes, as everywhere: so nobody waits in a circle.
    let repeats = arrivals().filter(|(_, (_, id))| id.is_none());
    let repeats: Vec<Repeat> =
        repeats.map(|(index, (arrival, _))| Repeat { index, arrival }).collect();
    let judged = repeat::judge(&mut tx, &repeats, now_us).await?;
    let new = arrivals().filter_map(|(_, (arrival, id))| Some(((*id)?, arrival)));
    let states = make_jobs(&mut tx, &new.collect::<Vec<_>>(), now_us, &mut due).await?;
    let mut repeated = repeat::revive(&mut tx, judged, now_us, &mut due).await?;
    let mut recorded = arrivals().filter_map(|(index, (_, id))| {
        let accepted = |id: &DeliveryId| Recorded {
            id: *id,
            verdict: Verdict::Accepted,
            state: states.get(id).copied(),
            first_us: None,
        };
        id.as_ref().map(accepted).or_else(|| repeated.remove(&index))
    });
    let of = |request: &Vec<Incoming>| recorded.by_ref().take(request.len()).collect();
    let outputs = requests.iter().map(of).collect();
    drop(recorded);
    notify(&mut tx, &due).await?;
    let durable = tx.start_commit().await?;
    turn.pass();
    durable.wait().await?;
    Ok(Carried { outputs, due })
}

/// Makes the jobs of new deliveries, each in its lane.
async fn make_jobs(
    tx: &mut Tx,
    new: &[(DeliveryId, &Arrival)],
    now_us: Micros,
    due: &mut Due,
) -> Result<HashMap<DeliveryId, State>, StoreError> {
    let mut entering: Vec<Entering<'_>> = new
        .iter()
        .flat_map(|(id, arrival)| {
            let numbered = arrival.jobs.iter().enumerate();
            numbered.map(move |(n, plan)| Entering {
                id: JobId::new(*id, n as i64),
                plan,
                position: arrival.position,
                kept: None,
                rank: 0,
                earliest_us: None,
                insists: false,
            })
        })
        .collect();
    entering.sort_by_key(|job| job.id);
    let entered = enter(tx, &entering, now_us).await?;
    let mut states = HashMap::new();
    for (job, entered) in entering.iter().zip(&entered) {
        states.entry(job.id.delivery()).or_insert(entered.state);
        if let Some(due_us) = entered.due_us {
            due.add(job.plan.route.clone(), due_us);
        }
    }
    let lane = |job: &Entering<'_>| job.plan.lane.as_ref().map(|lane| lane.id.0);
    let of = |read: fn(&Entered) -> Option<i64>| entered.iter().map(read).collect();
    tx.run_rows(
        "WITH v(id, route, lane, state, due_us, earliest_us, sequence, position, place, stale,
            superseded_by) AS ({rows})
         INSERT INTO jobs (id, route, lane, state, due_us, earliest_us, sequence, position, place,
            stale, superseded_by, created_us, since_us, settled_us, reason)
         SELECT v.*, $1, $1, CASE WHEN state = 'superseded' THEN $1 END,
            CASE WHEN state = 'superseded' THEN $2 END FROM v",
        vec![Arg::Int(now_us), Arg::Text(SUPERSEDED.into())],
        vec![
            Column::Int(entering.iter().map(|job| job.id.0).collect()),
            Column::Text(entering.iter().map(|job| job.plan.route.to_string()).collect()),
            Column::OptInt(entering.iter().map(lane).collect()),
            Column::Text(entered.iter().map(|one| one.state.word().to_owned()).collect()),
            Column::OptInt(of(|one| one.due_us)),
            Column::OptInt(of(|one| one.earliest_us)),
            Column::OptInt(of(|one| one.sequence)),
            Column::OptInt(of(|one| one.position)),
            Column::Int(entered.iter().map(|one| one.place).collect()),
            Column::Int(entered.iter().map(|one| one.stale.into()).collect()),
            Column::OptInt(of(|one| one.superseded_by.map(|job| job.0))),
        ],
    )
    .await?;
    Ok(states)
}

/// Tells the other processes, when this commits, which routes have work: once a batch, because
/// a trigger for every row cost a tenth to four fifths of the rate.
pub(super) async fn notify(tx: &mut Tx, due: &Due) -> Result<(), StoreError> {
    if !tx.is_shared() || due.is_empty() {
        return Ok(());
    }
    for told in due.told() {
        tx.run("SELECT pg_notify('posthouse_jobs', $1)::text", vec![Arg::Text(told)]).await?;
    }
    Ok(())
}

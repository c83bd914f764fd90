//! What is paused: its jobs stay where they are, and no worker takes them; senders to a paused
//! source are asked to come back later.

use super::Store;
use super::conn::Tx;
use super::error::StoreError;
use super::operate::operation;
use super::record::notify;
use super::sql::Arg;
use super::wake::Due;
use crate::delivery::Micros;
use crate::source::Stop;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

/// Pauses something. The first reason stays.
pub(super) async fn insert(
    tx: &mut Tx,
    stop: &Stop,
    reason: String,
    now_us: Micros,
) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO pauses (scope, name, lane, reason, since_us) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (scope, name) DO NOTHING",
        vec![
            Arg::Text(stop.scope.word().into()),
            Arg::Text(stop.name.clone()),
            Arg::OptInt(stop.lane().map(|lane| lane.0)),
            Arg::Text(reason),
            Arg::Int(now_us),
        ],
    )
    .await?;
    Ok(())
}

/// Lets something go on. `false` when it was not paused.
pub(super) async fn remove(tx: &mut Tx, stop: &Stop) -> Result<bool, StoreError> {
    let args = vec![Arg::Text(stop.scope.word().into()), Arg::Text(stop.name.clone())];
    let text = "DELETE FROM pauses WHERE scope = $1 AND name = $2 RETURNING name";
    Ok(!tx.run(text, args).await?.is_empty())
}

/// The paused sources, for whoever receives: asked at every request, so kept in memory.
#[derive(Default)]
pub(super) struct PausedSources(RwLock<BTreeSet<String>>);

impl Store {
    /// Whether senders to a source are to be asked to come back later, as far as is known here.
    pub fn is_source_paused(&self, source: &str) -> bool {
        self.paused.0.read().unwrap_or_else(PoisonError::into_inner).contains(source)
    }

    /// Looks again which sources are paused: another process may have paused one.
    pub async fn note_paused_sources(&self) -> Result<(), StoreError> {
        let rows =
            self.pools.read("SELECT name FROM pauses WHERE scope = 'source'", vec![]).await?;
        let names = rows.iter().map(|row| row.text(0)).collect::<Result<BTreeSet<_>, _>>()?;
        *self.paused.0.write().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(())
    }

    /// Stops something: its jobs stay where they are.
    pub async fn pause(&self, stop: &Stop, reason: &str) -> Result<(), StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        insert(&mut tx, stop, reason.to_owned(), now_us).await?;
        operation(&mut tx, "pause", &subject(stop), reason, now_us).await?;
        tx.commit().await?;
        self.note_paused_sources().await
    }

    /// Lets something go on. `false` when it was not paused. `routes` are those that may have
    /// work now.
    pub async fn resume(&self, stop: &Stop, routes: Vec<Arc<str>>) -> Result<bool, StoreError> {
        let now_us = self.clock.now_us();
        let mut tx = self.pools.begin().await?;
        let was_paused = remove(&mut tx, stop).await?;
        if was_paused {
            operation(&mut tx, "resume", &subject(stop), "", now_us).await?;
        }
        let mut due = Due::default();
        routes.into_iter().for_each(|route| due.add(route, now_us));
        notify(&mut tx, &due).await?;
        tx.commit().await?;
        self.wake.due(due, now_us);
        self.note_paused_sources().await?;
        Ok(was_paused)
    }
}

fn subject(stop: &Stop) -> String {
    format!("{} {}", stop.scope.word(), stop.name)
}

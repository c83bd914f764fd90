//! `migrate`: opens the store, which brings its schema up to date, and says where it stands.

use super::failure::Failure;
use super::settings::load;
use super::{Format, Global, print};
use crate::app;
use crate::clock::Clock;
use crate::config::Files;
use crate::store::{Store, StoreError};
use serde_json::json;

pub(super) async fn run(global: &Global) -> Result<(), Failure> {
    let config = load(global, Vec::new(), Files::Untouched)
        .map_err(|faults| Failure::of_configuration(&faults))?;
    let failed = |error: StoreError| Failure::Failed(error.to_string());
    let store = Store::open(&app::settings(&config), Clock::default()).await.map_err(failed)?;
    let version = store.schema_version().await.map_err(failed)?;
    let engine = store.engine();
    store.close().await;
    match global.output {
        Format::Table => print::text(&format!("{engine}: the schema is at version {version}\n")),
        Format::Json => print::json(&json!({ "engine": engine, "schema_version": version })),
    }
}

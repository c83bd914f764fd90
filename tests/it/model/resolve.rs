//! The step of the walk that decides about a doubt.

use super::Walk;
use posthouse::job::{JobId, State};
use posthouse::store::{Called, Resolution, StoreError};
use rand::RngExt;

impl Walk {
    pub(super) async fn resolve(&mut self) -> Result<(), StoreError> {
        let uncertain: Vec<JobId> = self
            .model
            .jobs
            .iter()
            .filter(|(_, job)| job.state == State::Uncertain)
            .map(|(id, _)| *id)
            .collect();
        let Some(id) = uncertain.first().copied().or(self.any_job()) else { return Ok(()) };
        let state = self.model.jobs[&id].state;
        let halt = self.rng.random_bool(0.5);
        let resolution = match self.rng.random_range(0..3) {
            0 => Resolution::Succeeded,
            1 => Resolution::Failed,
            _ => Resolution::Retry,
        };
        let called = self.store.resolve(id, resolution, halt, "model").await?;
        if state != State::Uncertain {
            assert_eq!(called, Called::NotAllowed(state));
            return Ok(());
        }
        assert_eq!(called, Called::Done);
        match resolution {
            Resolution::Retry => self.model.reopen(id, 0),
            Resolution::Succeeded => self.model.resolve(id, true, halt),
            Resolution::Failed => self.model.resolve(id, false, halt),
        }
        Ok(())
    }
}

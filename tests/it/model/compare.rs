//! Holds the store and the model side by side.

use super::Walk;
use posthouse::store::JobFilter;

impl Walk {
    pub(super) async fn compare(&mut self) {
        let filter = JobFilter { route: self.route.clone(), count: 10_000, ..JobFilter::default() };
        let found = self.store.jobs(&filter).await.unwrap().items;
        assert_eq!(found.len(), self.model.jobs.len());
        for job in found {
            let expected = &self.model.jobs[&job.id];
            let halts =
                expected.lane.is_some_and(|lane| self.model.lanes[&lane].halted_by == Some(job.id));
            assert_eq!(
                (job.state, job.attempts, job.sequence, job.replays, job.halts_lane),
                (expected.state, expected.attempts, expected.sequence, expected.replays, halts),
                "job {}",
                job.id
            );
            if let Some(before) = self.before.insert(job.id, job.state) {
                let moved = before == job.state || before.moves().contains(&job.state);
                assert!(moved, "job {}: {before:?} became {:?}", job.id, job.state);
            }
            let order = (job.position, job.stale, job.superseded_by);
            let known = (expected.position, expected.stale, expected.superseded_by);
            assert_eq!(order, known, "job {}", job.id);
        }
    }
}

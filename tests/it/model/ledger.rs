//! The ledger as it should be, in memory: small enough to be obviously right.

use posthouse::job::{JobId, State};
use std::collections::BTreeMap;

/// A job as the model knows it.
#[derive(Clone, Debug)]
pub struct Job {
    pub lane: Option<u8>,
    pub state: State,
    pub rank: i64,
    pub attempts: i64,
    pub sequence: Option<i64>,
    pub replays: Option<JobId>,
}

/// A lane as the model knows it.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub sequence: i64,
    pub halted_by: Option<JobId>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Ledger {
    pub jobs: BTreeMap<JobId, Job>,
    pub lanes: BTreeMap<u8, Lane>,
}

impl Ledger {
    fn in_lane(&self, lane: u8) -> impl Iterator<Item = (&JobId, &Job)> {
        self.jobs.iter().filter(move |(_, job)| job.lane == Some(lane))
    }

    /// Whether a newcomer to a lane finds somebody there.
    fn is_occupied(&self, lane: u8) -> bool {
        let halted = self.lanes.get(&lane).is_some_and(|lane| lane.halted_by.is_some());
        halted || self.in_lane(lane).any(|(_, job)| job.state.is_open())
    }

    /// A job enters: at once ready, or behind others.
    pub fn enter(&mut self, id: JobId, lane: Option<u8>, rank: i64, replays: Option<JobId>) {
        let mut job = Job { lane, state: State::Ready, rank, attempts: 0, sequence: None, replays };
        if let Some(lane) = lane {
            if self.is_occupied(lane) {
                job.state = State::Waiting;
            } else {
                job.sequence = Some(self.number(lane));
            }
        }
        self.jobs.insert(id, job);
    }

    fn number(&mut self, lane: u8) -> i64 {
        let lane = self.lanes.entry(lane).or_default();
        lane.sequence += 1;
        lane.sequence
    }

    /// The lane goes on to the next one: the lowest rank, then the oldest.
    fn promote(&mut self, lane: Option<u8>) {
        let Some(lane) = lane else { return };
        let waiting = self.in_lane(lane).filter(|(_, job)| job.state == State::Waiting);
        let next = waiting.min_by_key(|(id, job)| (job.rank, **id)).map(|(id, _)| *id);
        if let Some(next) = next {
            let number = self.number(lane);
            let job = self.jobs.get_mut(&next).unwrap();
            job.state = State::Ready;
            job.sequence = Some(number);
        }
    }

    pub fn claim(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).unwrap();
        assert!(matches!(job.state, State::Ready | State::Retrying), "{id} was {:?}", job.state);
        job.state = State::Running;
        job.attempts += 1;
        if let Some(lane) = job.lane {
            let running = self.in_lane(lane).filter(|(_, job)| job.state == State::Running);
            assert_eq!(running.count(), 1, "two running jobs in lane {lane}");
        }
    }

    /// A running job ends or is tried again.
    pub fn settle(&mut self, id: JobId, state: State, halt: bool) {
        let job = self.jobs.get_mut(&id).unwrap();
        assert_eq!(job.state, State::Running);
        job.state = state;
        let lane = job.lane;
        match (state, halt, lane) {
            (State::Retrying, ..) => {}
            (State::Dead, true, Some(lane)) => {
                self.lanes.entry(lane).or_default().halted_by = Some(id);
            }
            _ => self.promote(lane),
        }
    }

    /// A dead job is put back.
    pub fn reopen(&mut self, id: JobId) {
        let lane = self.jobs[&id].lane;
        let halts = lane.is_some_and(|lane| self.lanes[&lane].halted_by == Some(id));
        let occupied = !halts && lane.is_some_and(|lane| self.is_occupied(lane));
        if halts {
            self.lanes.get_mut(&lane.unwrap()).unwrap().halted_by = None;
        }
        let number = match lane {
            Some(lane) if !halts && !occupied => Some(self.number(lane)),
            _ => None,
        };
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = if occupied { State::Waiting } else { State::Ready };
        job.sequence = number.or(job.sequence);
    }

    /// A job is called off; `false` when it is over already.
    pub fn cancel(&mut self, id: JobId) -> bool {
        let before = self.jobs[&id].clone();
        if matches!(before.state, State::Succeeded | State::Cancelled) {
            return false;
        }
        self.jobs.get_mut(&id).unwrap().state = State::Cancelled;
        let Some(lane) = before.lane else { return true };
        let halts = self.lanes[&lane].halted_by == Some(id);
        if halts {
            self.lanes.get_mut(&lane).unwrap().halted_by = None;
        }
        let is_head = halts || (before.state.is_open() && before.state != State::Waiting);
        if is_head {
            // A head that was never tried hands its number on.
            if before.attempts == 0 {
                self.lanes.get_mut(&lane).unwrap().sequence -= 1;
            }
            self.promote(Some(lane));
        }
        true
    }

    /// The jobs that may be claimed, live ones first.
    pub fn claimable(&self) -> Vec<(i64, JobId)> {
        let free = |job: &&Job| matches!(job.state, State::Ready | State::Retrying);
        let found = self.jobs.iter().filter(|(_, job)| free(job));
        let mut found: Vec<_> = found.map(|(id, job)| (job.rank, *id)).collect();
        found.sort_unstable();
        found
    }

    /// The newest job of a delivery, as far as replays go.
    pub fn latest(&self, delivery: i64) -> Option<(JobId, &Job)> {
        let of_delivery = self.jobs.iter().filter(|(id, _)| id.delivery().0 == delivery);
        of_delivery.max_by_key(|(id, _)| **id).map(|(id, job)| (*id, job))
    }
}

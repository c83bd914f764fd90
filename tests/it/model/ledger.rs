//! The ledger as it should be, in memory: small enough to be obviously right.

use posthouse::job::{JobId, State};
use providers::Position;
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
    pub position: Option<i64>,
    pub place: i64,
    pub stale: bool,
    pub superseded_by: Option<JobId>,
}

/// A lane as the model knows it. Of the four, 1 and 2 go by position, and 2 supersedes.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    pub sequence: i64,
    pub halted_by: Option<JobId>,
    by_number: Option<bool>,
    seen: Option<i64>,
    done: Option<(i64, JobId)>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Ledger {
    pub jobs: BTreeMap<JobId, Job>,
    pub lanes: BTreeMap<u8, Lane>,
}

/// Whether jobs of a lane wait in the order of their positions.
pub fn by_position(lane: u8) -> bool {
    lane == 1 || lane == 2
}

/// Whether what comes too late in a lane is superseded.
pub fn latest(lane: u8) -> bool {
    lane == 2
}

fn is_head(state: State) -> bool {
    matches!(state, State::Ready | State::Running | State::Retrying)
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

    /// A new job enters its lane.
    pub fn enter(
        &mut self,
        id: JobId,
        lane: Option<u8>,
        position: Position,
        replays: Option<JobId>,
    ) {
        let rank = i64::from(replays.is_some());
        let mut job = Job {
            lane,
            state: State::Waiting,
            rank,
            attempts: 0,
            sequence: None,
            replays,
            position: None,
            place: 0,
            stale: false,
            superseded_by: None,
        };
        if let Some(number) = lane {
            let lane = self.lanes.entry(number).or_default();
            if position != Position::default() && lane.by_number.is_none() {
                lane.by_number = Some(position.sequence.is_some());
            }
            job.position = match lane.by_number {
                Some(true) => position.sequence,
                Some(false) => position.occurred_at_us,
                None => None,
            };
            if by_position(number) {
                lane.seen = lane.seen.max(job.position);
                job.place = job.position.or(lane.seen).unwrap_or(0);
            }
        }
        self.place(id, job, replays.is_some());
    }

    /// A job finds its place: too late, in an empty lane, before a head that waits, or behind.
    fn place(&mut self, id: JobId, mut job: Job, insists: bool) {
        job.state = State::Waiting;
        job.superseded_by = None;
        let Some(number) = job.lane else {
            job.state = State::Ready;
            self.jobs.insert(id, job);
            return;
        };
        let done = self.lanes.get(&number).and_then(|lane| lane.done);
        let late = done.filter(|(done, _)| job.position.is_some_and(|at| at < *done));
        job.stale = late.is_some();
        if let Some((_, by)) = late.filter(|_| latest(number) && !insists) {
            job.state = State::Superseded;
            job.superseded_by = Some(by);
            self.jobs.insert(id, job);
            return;
        }
        let head = self.in_lane(number).find(|(other, job)| **other != id && is_head(job.state));
        let head = head.map(|(id, head)| (*id, head.clone()));
        if let Some((other, head)) = head {
            let yields = head.state == State::Ready && (head.rank > 0 || head.attempts == 0);
            if yields && (job.rank, job.place, id) < (head.rank, head.place, other) {
                let stepped = self.jobs.get_mut(&other).unwrap();
                stepped.state = State::Waiting;
                stepped.sequence = None;
                job.state = State::Ready;
                job.sequence = head.sequence;
            }
        } else if !self.is_occupied(number) {
            job.state = State::Ready;
            job.sequence = Some(self.number(number));
        }
        self.jobs.insert(id, job);
    }

    fn number(&mut self, lane: u8) -> i64 {
        let lane = self.lanes.entry(lane).or_default();
        lane.sequence += 1;
        lane.sequence
    }

    /// The lane goes on to the next one: the lowest rank, then place, then the oldest.
    fn promote(&mut self, lane: Option<u8>) {
        let Some(number) = lane else { return };
        let done = self.lanes.get(&number).and_then(|lane| lane.done);
        let is_late =
            |job: &Job| done.is_some_and(|(done, _)| job.position.is_some_and(|at| at < done));
        if latest(number) {
            for job in self.jobs.values_mut() {
                let waits = job.lane == lane && job.state == State::Waiting && job.rank == 0;
                if waits && is_late(job) {
                    job.state = State::Superseded;
                    job.superseded_by = done.map(|(_, by)| by);
                }
            }
        }
        let waiting = self.in_lane(number).filter(|(_, job)| job.state == State::Waiting);
        let next = waiting.min_by_key(|(id, job)| (job.rank, job.place, **id)).map(|(id, _)| *id);
        if let Some(next) = next {
            let number = self.number(number);
            let job = self.jobs.get_mut(&next).unwrap();
            job.state = State::Ready;
            job.sequence = Some(number);
            job.stale = is_late(job);
        }
    }

    pub fn claim(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).unwrap();
        assert!(matches!(job.state, State::Ready | State::Retrying), "{id} was {:?}", job.state);
        job.state = State::Running;
        job.attempts += 1;
        if let Some(lane) = job.lane {
            let heads = self.in_lane(lane).filter(|(_, job)| is_head(job.state));
            assert_eq!(heads.count(), 1, "two heads in lane {lane}");
        }
    }

    /// A running job ends or is tried again.
    pub fn settle(&mut self, id: JobId, state: State, halt: bool) {
        let job = self.jobs.get_mut(&id).unwrap();
        assert_eq!(job.state, State::Running);
        job.state = state;
        let (lane, position) = (job.lane, job.position);
        if state == State::Succeeded {
            self.processed(id, lane, position);
        }
        match (state, halt, lane) {
            (State::Retrying, ..) => {}
            (State::Dead | State::Uncertain, true, Some(lane)) => {
                self.lanes.entry(lane).or_default().halted_by = Some(id);
            }
            _ => self.promote(lane),
        }
    }

    /// Moves the watermark of a lane.
    fn processed(&mut self, id: JobId, lane: Option<u8>, position: Option<i64>) {
        let (Some(lane), Some(position)) = (lane, position) else { return };
        let lane = self.lanes.get_mut(&lane).unwrap();
        if lane.done.is_none_or(|(done, _)| done < position) {
            lane.done = Some((position, id));
        }
    }

    fn is_halting(&self, id: JobId) -> bool {
        let lane = self.jobs[&id].lane;
        lane.is_some_and(|lane| self.lanes[&lane].halted_by == Some(id))
    }

    fn release(&mut self, id: JobId) {
        if let Some(lane) = self.jobs[&id].lane {
            self.lanes.get_mut(&lane).unwrap().halted_by = None;
        }
    }

    /// A dead or uncertain job is put back.
    pub fn reopen(&mut self, id: JobId, rank: i64) {
        if self.is_halting(id) {
            self.release(id);
            let job = self.jobs.get_mut(&id).unwrap();
            (job.state, job.stale, job.rank) = (State::Ready, false, 0);
            return;
        }
        let mut job = self.jobs[&id].clone();
        let number = job.sequence;
        (job.sequence, job.rank) = (None, rank);
        // While it is placed it is nobody's obstacle.
        self.jobs.get_mut(&id).unwrap().state = State::Cancelled;
        self.place(id, job, false);
        let job = self.jobs.get_mut(&id).unwrap();
        job.sequence = job.sequence.or(number);
    }

    /// The doubt about a job is resolved: it happened, or it did not and stays dead.
    pub fn resolve(&mut self, id: JobId, happened: bool, halt: bool) {
        let halts = self.is_halting(id);
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = if happened { State::Succeeded } else { State::Dead };
        let (lane, position) = (job.lane, job.position);
        if happened {
            self.processed(id, lane, position);
        }
        if halts && (happened || !halt) {
            self.release(id);
            self.promote(lane);
        }
    }

    /// A job is called off; `false` when it is over already.
    pub fn cancel(&mut self, id: JobId) -> bool {
        let before = self.jobs[&id].clone();
        if matches!(before.state, State::Succeeded | State::Cancelled | State::Superseded) {
            return false;
        }
        self.jobs.get_mut(&id).unwrap().state = State::Cancelled;
        let Some(lane) = before.lane else { return true };
        let halts = self.is_halting(id);
        if halts {
            self.release(id);
        }
        if halts || is_head(before.state) {
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

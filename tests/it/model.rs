//! The store against a small ledger in memory: random records, claims, settles, expiries,
//! doubts, replays, retries and cancels must leave both in the same state after every step.
//!
//! A failure prints its seed; `POSTHOUSE_SEED=n` runs that one alone.

mod compare;
mod ledger;
mod resolve;

use crate::harness::{Engine, World, both, run};
use bytes::Bytes;
use ledger::Ledger;
use posthouse::clock::Clock;
use posthouse::delivery::{Arrival, DeliveryId, Verdict};
use posthouse::job::{Attempt, Class, Effect, JobId, Lane, Lease, Outcome, Planned, State};
use posthouse::store::{Called, Claim, Replayed, Settings, Settled, Settlement, Store, StoreError};
use providers::Position;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

/// Steps of one run: enough for every pair of moves to meet in a lane.
const STEPS: usize = 250;
/// Runs, each with a seed of its own.
const RUNS: u64 = 3;
const KEYS: u32 = 40;
const LANES: u8 = 4;
const ROUTE: &str = "r";

both!(the_store_does_what_a_small_ledger_in_memory_does, |world| async {
    let given = std::env::var("POSTHOUSE_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds: Vec<u64> = match given {
        Some(seed) => vec![seed],
        None => (0..RUNS).map(|_| rand::random()).collect(),
    };
    let settings = Settings {
        url: world.database.url(),
        connections: 4,
        queue_max: 100,
        queue_bytes: 1 << 20,
        batch_max: 16,
    };
    for (run, seed) in seeds.into_iter().enumerate() {
        println!("POSTHOUSE_SEED={seed}");
        let clock = Clock::default();
        let store = Store::open(&settings, clock.clone()).await.unwrap();
        // A ledger that is not empty would not match the model's: every run has its own source.
        let mut walk = Walk {
            rng: StdRng::seed_from_u64(seed),
            source: format!("run{run}"),
            route: format!("{ROUTE}{run}"),
            store,
            clock,
            model: Ledger::default(),
            deliveries: BTreeMap::new(),
            leases: Vec::new(),
            stale: Vec::new(),
            before: BTreeMap::new(),
        };
        for _ in 0..STEPS {
            walk.step().await.unwrap();
            walk.compare().await;
        }
        walk.drain().await.unwrap();
        walk.before.clear();
        walk.compare().await;
        walk.store.close().await;
    }
});

struct Walk {
    rng: StdRng,
    source: String,
    route: String,
    store: Store,
    clock: Clock,
    model: Ledger,
    /// Delivery, content and position by key.
    deliveries: BTreeMap<u32, (DeliveryId, u8, Position)>,
    /// Leases that hold, and whether their time is over.
    leases: Vec<(Lease, bool)>,
    /// Leases that do not hold any more.
    stale: Vec<Lease>,
    /// How each job stood a step ago.
    before: BTreeMap<JobId, State>,
}

impl Walk {
    fn lane(&self, key: u32) -> Option<u8> {
        let lane = (key % u32::from(LANES + 1)) as u8;
        (lane < LANES).then_some(lane)
    }

    fn entity(&self, lane: Option<u8>) -> Option<String> {
        lane.map(|lane| format!("entity-{lane}"))
    }

    fn plan(&self, lane: Option<u8>) -> Planned {
        let entity = self.entity(lane);
        let lane = lane.zip(entity).map(|(number, entity)| Lane {
            by_position: ledger::by_position(number),
            latest: ledger::latest(number),
            ..Lane::of_arrival(&self.route, &entity)
        });
        Planned { route: self.route.as_str().into(), lane }
    }

    /// Few positions, so that there are ties; some events have none, or one kind only.
    fn position(&mut self) -> Position {
        let mut one = || self.rng.random_bool(0.8).then(|| self.rng.random_range(1..12));
        Position { occurred_at_us: one(), sequence: one() }
    }

    async fn step(&mut self) -> Result<(), StoreError> {
        match self.rng.random_range(0..100) {
            0..35 => self.record().await,
            35..55 => self.claim().await,
            55..75 => self.settle().await,
            75..80 => self.settle_stale().await,
            80..85 => self.sweep().await,
            85..88 => self.extend().await,
            88..91 => self.replay().await,
            91..94 => self.retry().await,
            94..97 => self.resolve().await,
            _ => self.cancel().await,
        }
    }

    async fn record(&mut self) -> Result<(), StoreError> {
        let key = self.rng.random_range(0..KEYS);
        let content = u8::from(self.rng.random_bool(0.1));
        let lane = self.lane(key);
        let position = self.position();
        let body = Bytes::from(format!("{{\"content\":{content}}}"));
        let arrival = Arrival {
            source: self.source.as_str().into(),
            key: key.to_string(),
            kind: "push".into(),
            entity: self.entity(lane),
            position,
            volatile: vec![],
            coverage: providers::Coverage::Body,
            secret: Some(0),
            received_us: self.clock.now_us(),
            headers: vec![],
            fingerprint: [content; 32],
            body,
            jobs: vec![self.plan(lane)],
        };
        let recorded = self.store.record(arrival).await?;
        let expected = match self.deliveries.get(&key) {
            None => {
                self.deliveries.insert(key, (recorded.id, content, position));
                self.model.enter(JobId::new(recorded.id, 0), lane, position, None);
                Verdict::Accepted
            }
            Some((id, first, _)) if *first == content => {
                assert_eq!(recorded.id, *id);
                let latest = self.model.latest(id.0).filter(|(_, job)| job.state == State::Dead);
                match latest.map(|(id, _)| id) {
                    Some(dead) => {
                        self.model.reopen(dead, 0);
                        match self.model.jobs[&dead].state {
                            State::Superseded => Verdict::Duplicate,
                            _ => Verdict::Revived,
                        }
                    }
                    None => Verdict::Duplicate,
                }
            }
            Some(_) => Verdict::Conflict,
        };
        assert_eq!(recorded.verdict, expected);
        Ok(())
    }

    async fn claim(&mut self) -> Result<(), StoreError> {
        let count = self.rng.random_range(1..4_usize);
        let over = self.rng.random_bool(0.2);
        let lease_until_us = self.clock.now_us() + if over { -1 } else { 600_000_000 };
        let wanted = Claim {
            route: self.route.as_str().into(),
            destination: "d".into(),
            circuit: false,
            limits: None,
            count: count as i64,
            background: count as i64,
            worker: "w".into(),
            lease_until_us,
        };
        let claimed = self.store.claim(&wanted).await?.leases;
        let free = self.model.claimable();
        assert_eq!(claimed.len(), count.min(free.len()), "claimable: {free:?}");
        let live = free.iter().filter(|(rank, _)| *rank == 0).count();
        let ranks: Vec<i64> = claimed.iter().map(|l| self.model.jobs[&l.job].rank).collect();
        let taken_live = ranks.iter().filter(|rank| **rank == 0).count();
        assert_eq!(taken_live, live.min(count), "replays must not overtake live jobs");
        for lease in claimed {
            self.model.claim(lease.job);
            let job = &self.model.jobs[&lease.job];
            let known = (job.attempts, job.rank, job.position, job.stale);
            assert_eq!((lease.attempt, lease.rank, lease.position, lease.stale), known);
            self.leases.push((lease, over));
        }
        Ok(())
    }

    fn settlement(&mut self, lease: Lease) -> (Settlement, State, bool) {
        let now_us = self.clock.now_us();
        let halt = self.rng.random_bool(0.5);
        let (class, effect, state) = match self.rng.random_range(0..10) {
            0..5 => (Class::Accepted, Effect::Succeed, State::Succeeded),
            5..8 => (Class::Failed, Effect::Retry { due_us: now_us }, State::Retrying),
            8 => (Class::Refused, Effect::Die { halt_lane: halt, pause_route: false }, State::Dead),
            _ => (
                Class::Uncertain,
                Effect::Doubt { halt_lane: halt, probe_us: None },
                State::Uncertain,
            ),
        };
        let outcome = Outcome::new(class, "model");
        let attempt = Attempt { started_us: now_us, ended_us: now_us, worker: "w".into(), outcome };
        let frees = Default::default();
        (Settlement { lease, attempt, effect, expired_by_us: None, frees }, state, halt)
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        if self.leases.is_empty() {
            return Ok(());
        }
        let at = self.rng.random_range(0..self.leases.len());
        let (lease, _) = self.leases.swap_remove(at);
        let (settlement, state, halt) = self.settlement(lease.clone());
        assert_eq!(self.store.settle(settlement).await?, Settled::Done);
        self.model.settle(lease.job, state, halt);
        self.stale.push(lease);
        Ok(())
    }

    async fn settle_stale(&mut self) -> Result<(), StoreError> {
        if self.stale.is_empty() {
            return Ok(());
        }
        let at = self.rng.random_range(0..self.stale.len());
        let (settlement, ..) = self.settlement(self.stale[at].clone());
        assert_eq!(self.store.settle(settlement).await?, Settled::LeaseLost);
        Ok(())
    }

    async fn sweep(&mut self) -> Result<(), StoreError> {
        let found = self.store.expired(1000).await?;
        let found: Vec<_> = found.into_iter().filter(|f| *f.lease.route == *self.route).collect();
        let mut over: Vec<JobId> =
            self.leases.iter().filter(|(_, over)| *over).map(|(lease, _)| lease.job).collect();
        let mut expired: Vec<JobId> = found.iter().map(|found| found.lease.job).collect();
        over.sort_unstable();
        expired.sort_unstable();
        assert_eq!(expired, over);
        for found in found {
            let (mut settlement, state, halt) = self.settlement(found.lease.clone());
            // A sweep does not know that a job succeeded, nor where it stands.
            let (state, effect) = match state {
                State::Succeeded => {
                    (State::Retrying, Effect::Retry { due_us: self.clock.now_us() })
                }
                state => (state, settlement.effect),
            };
            settlement.effect = effect;
            settlement.expired_by_us = Some(self.clock.now_us());
            assert_eq!(self.store.settle(settlement).await?, Settled::Done);
            self.model.settle(found.lease.job, state, halt);
            let at = self.leases.iter().position(|(lease, _)| lease.job == found.lease.job);
            self.stale.push(self.leases.swap_remove(at.unwrap()).0);
        }
        Ok(())
    }

    async fn extend(&mut self) -> Result<(), StoreError> {
        let held: Vec<_> = self.leases.iter().map(|(lease, _)| (lease.job, lease.token)).collect();
        let mut asked = held.clone();
        asked.extend(self.stale.iter().map(|lease| (lease.job, lease.token)));
        if asked.is_empty() {
            return Ok(());
        }
        let mut still = self.store.extend(&asked, std::time::Duration::from_secs(600)).await?;
        let mut held: Vec<JobId> = held.into_iter().map(|(job, _)| job).collect();
        held.sort_unstable();
        still.sort_unstable();
        assert_eq!(still, held);
        self.leases.iter_mut().for_each(|(_, over)| *over = false);
        Ok(())
    }

    fn any_job(&mut self) -> Option<JobId> {
        let count = self.model.jobs.len();
        (count > 0).then(|| *self.model.jobs.keys().nth(self.rng.random_range(0..count)).unwrap())
    }

    async fn replay(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.any_job() else { return Ok(()) };
        let (latest, job) = self.model.latest(id.delivery().0).unwrap();
        let (lane, open) = (job.lane, job.state.is_open());
        let replay = Replayed {
            delivery: id.delivery(),
            position: self.position_of(id.delivery()),
            earliest_us: None,
            plan: self.plan(lane),
            replays: Some(latest),
            nonce: "n".into(),
        };
        // Twice at once: the second one finds that the first did it.
        let made = self.store.replay(&[replay.clone(), replay]).await?;
        let new = JobId::new(id.delivery(), latest.n() + 1);
        assert_eq!(made, [(!open).then_some(new), None]);
        if !open {
            let position = self.position_of(id.delivery());
            self.model.enter(new, lane, position, Some(latest));
        }
        Ok(())
    }

    fn position_of(&self, delivery: DeliveryId) -> Position {
        self.deliveries.values().find(|known| known.0 == delivery).unwrap().2
    }

    async fn retry(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.any_job() else { return Ok(()) };
        let state = self.model.jobs[&id].state;
        let expected = match state {
            State::Dead | State::Retrying => Called::Done,
            other => Called::NotAllowed(other),
        };
        assert_eq!(self.store.retry(id).await?, expected);
        if state == State::Dead {
            self.model.reopen(id, 0);
        }
        Ok(())
    }

    async fn cancel(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.any_job() else { return Ok(()) };
        let before = self.model.jobs[&id].state;
        let done = self.model.cancel(id);
        let expected = if done { Called::Done } else { Called::NotAllowed(before) };
        assert_eq!(self.store.cancel(id).await?, expected);
        if let Some(at) = self.leases.iter().position(|(lease, _)| lease.job == id) {
            self.stale.push(self.leases.swap_remove(at).0);
        }
        Ok(())
    }

    /// Works everything off: nothing may be left waiting, but behind a dead head.
    async fn drain(&mut self) -> Result<(), StoreError> {
        loop {
            while !self.leases.is_empty() {
                self.settle().await?;
            }
            self.claim().await?;
            if self.leases.is_empty() {
                break;
            }
        }
        for job in self.model.jobs.values() {
            let halted = job.lane.is_some_and(|lane| self.model.lanes[&lane].halted_by.is_some());
            assert!(!job.state.is_open() || (halted && job.state == State::Waiting), "{job:?}");
        }
        assert_eq!(self.store.head_orphans().await?, 0);
        Ok(())
    }
}

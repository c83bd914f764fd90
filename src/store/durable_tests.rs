//! Nobody hears of anything before the log is on the disk: recording, claiming, settling, and any
//! other transaction.

use super::tests::{Disk, LONG, disk};
use super::*;
use crate::delivery::Arrival;
use crate::job::{Attempt, Class, Effect, Outcome, Planned};
use crate::store::claim::{Claim, claim};
use crate::store::conn::Pools;
use crate::store::group::Turn;
use crate::store::record::Incoming;
use crate::store::settle::Settlement;
use crate::store::{body, open, record, settle};
use bytes::Bytes;
use providers::{Coverage, Position};
use std::time::Duration;

/// What does not wait for the disk is done by then: its commit was over before.
const SOON: Duration = Duration::from_millis(200);

/// Lets some work wait for the disk, and only then come to its end.
async fn held<T: Send + 'static>(
    disk: &Disk,
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> T {
    let mut work = tokio::spawn(work);
    disk.begun.recv_timeout(LONG).expect("it asks for a sync");
    let early = tokio::time::timeout(SOON, &mut work).await;
    assert!(early.is_err(), "it did not wait for the disk");
    disk.go.send(Synced::Done).expect("a disk");
    work.await.expect("a task").expect("durable")
}

fn incoming() -> Vec<Vec<Incoming>> {
    let body = Bytes::from_static(b"{}");
    let arrival = Arrival {
        source: "github".into(),
        key: "1".into(),
        kind: "push".into(),
        entity: None,
        position: Position::default(),
        volatile: vec![],
        coverage: Coverage::Body,
        secret: None,
        received_us: 1,
        headers: vec![],
        fingerprint: [0; 32],
        body: body.clone(),
        jobs: vec![Planned { route: "out".into(), lane: None }],
    };
    vec![vec![Incoming { arrival, stored: body::pack(&body) }]]
}

fn turn() -> Turn {
    Turn::new(oneshot::channel().0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_hears_of_a_commit_before_it_is_on_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let pools = open::open(&url, 2).await.expect("a database");
    let Pools::Sqlite { writer, readers, path, .. } = pools else { panic!("it is SQLite") };
    let disk = disk();
    let pools = Pools::Sqlite { writer, readers, path, log: disk.log.clone() };

    let of = pools.clone();
    let recording = async move { record::batch(&of, &incoming(), &turn(), 1).await };
    assert_eq!(held(&disk, recording).await.outputs.len(), 1);

    let of = pools.clone();
    let wanted = Claim {
        route: "out".into(),
        destination: "out".into(),
        circuit: false,
        limits: None,
        count: 1,
        background: 1,
        worker: "w".into(),
        lease_until_us: 1_000,
    };
    let claimed = held(&disk, async move { claim(&of, &wanted, 2).await }).await;

    let attempt = Attempt {
        started_us: 2,
        ended_us: 3,
        worker: "w".into(),
        outcome: Outcome::new(Class::Accepted, ""),
    };
    let settlement = Settlement {
        lease: claimed.leases[0].clone(),
        attempt,
        effect: Effect::Succeed,
        expired_by_us: None,
        frees: [].into(),
    };
    let of = pools.clone();
    let settling = async move { settle::batch(&of, &[settlement], &turn(), 3).await };
    assert_eq!(held(&disk, settling).await.outputs, [settle::Settled::Done]);

    let other = async move { pools.begin().await?.commit().await };
    held(&disk, other).await;
}

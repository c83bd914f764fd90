//! Batches beside each other, on a disk that a test holds back.

use super::*;

type Told = Result<(), StoreError>;

/// Carries everything at once, says that it did, and leaves the rest to the disk.
struct Carrier(mpsc::UnboundedSender<oneshot::Sender<Told>>);

impl Carry<u32, u32> for Carrier {
    async fn carry(&self, items: &[u32], turn: &Turn) -> Result<Carried<u32>, StoreError> {
        let (tell, told) = oneshot::channel();
        self.0.send(tell).expect("a test");
        turn.pass();
        told.await.expect("a test")?;
        Ok(Carried { outputs: items.to_vec(), due: Due::default() })
    }
}

#[tokio::test]
async fn a_batch_does_not_wait_for_the_disk_and_its_waiters_do() {
    let bounds = Bounds { waiting: 8, waiting_bytes: 8, batch: 8, batch_bytes: 8 };
    let waker = Waker(Arc::default(), Clock::default());
    let (carried, mut batches) = mpsc::unbounded_channel();
    let group = Group::start(bounds, waker, Carrier(carried));
    let put = |item| {
        let group = group.clone();
        tokio::spawn(async move { group.put(item, 1).await })
    };
    let first = put(1);
    let first_batch = batches.recv().await.expect("a batch");
    let second = put(2);
    let second_batch = batches.recv().await.expect("a batch beside the one that is not durable");
    assert!(!first.is_finished(), "answered before it was durable");
    first_batch.send(Ok(())).expect("somebody waits");
    assert_eq!(first.await.expect("a task").expect("durable"), 1);
    assert!(!second.is_finished(), "answered with the one before");
    second_batch.send(Err(StoreError::Unavailable("no disk".into()))).expect("one waits");
    second.await.expect("a task").expect_err("it never became durable");
}

//! Group commit: while one transaction is in flight, the next batch gathers.
//!
//! There is no timer: a lone request is a batch of one, at once. Each waiter is answered once the
//! commit is durable, which the next batch does not wait for, and one bad item fails alone.

use super::error::StoreError;
use super::sync::Durable;
use super::wake::{Due, Wake};
use crate::clock::Clock;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, TryAcquireError, mpsc, oneshot};

/// Times that a batch is tried again at once when another transaction was in its way.
const CONTENDED_TRIES: usize = 8;

/// Batches that become durable while another one is written. One is not enough where the disk takes
/// longer than the writing.
const AT_ONCE: usize = 2;

/// Time for a batch. No healthy store needs a second; one that cannot be heard of any more, such
/// as behind a cut wire, would otherwise keep everybody waiting until the kernel gives up.
const BATCH_TIMEOUT: Duration = Duration::from_secs(20);

struct Waiting<I, O> {
    item: I,
    cost: u32,
    answer: Answer<O>,
}

/// The way into a group. Cheap to clone.
pub(super) struct Group<I, O> {
    queue: mpsc::Sender<Waiting<I, O>>,
    budget: Arc<Semaphore>,
}

impl<I, O> Clone for Group<I, O> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), budget: self.budget.clone() }
    }
}

/// Bounds of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Items that may wait.
    pub(super) waiting: usize,
    /// Bytes that may wait.
    pub(super) waiting_bytes: usize,
    /// Items in a transaction.
    pub(super) batch: usize,
    /// Bytes in a transaction, unless a single item is larger.
    pub(super) batch_bytes: usize,
}

/// What a batch came to.
pub(super) struct Carried<O> {
    /// One an input, in order.
    pub(super) outputs: Vec<O>,
    /// Work for others. They hear of it as soon as the commit is durable, and so can be seen.
    pub(super) due: Due,
    /// What is waited for before anybody hears of anything.
    pub(super) durable: Durable,
}

/// Where others hear of work.
#[derive(Clone)]
pub(super) struct Waker(pub(super) Arc<Wake>, pub(super) Clock);

impl Waker {
    fn wake(&self, due: Due) {
        self.0.due(due, self.1.now_us());
    }
}

/// Carries out a batch in one transaction.
pub(super) trait Carry<I, O>: Send + Sync + 'static {
    fn carry(&self, items: &[I]) -> impl Future<Output = Result<Carried<O>, StoreError>> + Send;
}

impl<I: Send + Sync + 'static, O: Send + 'static> Group<I, O> {
    /// Starts the task that writes the batches. It ends when the last clone is dropped and what
    /// waits is written.
    pub(super) fn start(bounds: Bounds, waker: Waker, carry: impl Carry<I, O>) -> Self {
        let (queue, waiting) = mpsc::channel(bounds.waiting);
        tokio::spawn(run(waiting, bounds, waker, carry));
        let permits = bounds.waiting_bytes.min(Semaphore::MAX_PERMITS);
        Self { queue, budget: Arc::new(Semaphore::new(permits)) }
    }

    /// Hands an item over and waits for its commit. A full queue is an error at once.
    pub(super) async fn put(&self, item: I, cost_bytes: usize) -> Result<O, StoreError> {
        let cost = u32::try_from(cost_bytes).unwrap_or(u32::MAX);
        let permit = match self.budget.try_acquire_many(cost) {
            Ok(permit) => permit,
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                return Err(StoreError::QueueFull);
            }
        };
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { item, cost, answer };
        self.queue.try_send(waiting).map_err(|_| StoreError::QueueFull)?;
        let result = answered.await;
        drop(permit);
        result.unwrap_or_else(|_| Err(StoreError::Unavailable("the writer stopped".into())))
    }
}

async fn run<I: Send + Sync + 'static, O: Send + 'static>(
    mut queue: mpsc::Receiver<Waiting<I, O>>,
    bounds: Bounds,
    waker: Waker,
    carry: impl Carry<I, O>,
) {
    let mut waiting = VecDeque::with_capacity(bounds.batch);
    let mut received = Vec::with_capacity(bounds.batch);
    // Batches that are to become durable. They are in this task and not in tasks of their own, as
    // each of those would wake a thread.
    let mut under_way = FuturesUnordered::new();
    loop {
        if waiting.is_empty() {
            tokio::select! {
                biased;
                Some(()) = under_way.next() => continue,
                count = queue.recv_many(&mut received, bounds.batch),
                    if under_way.len() < AT_ONCE => match count {
                        0 => break,
                        _ => waiting.extend(received.drain(..)),
                    }
            }
        }
        while under_way.len() >= AT_ONCE {
            under_way.next().await;
        }
        let (items, answers) = first(&mut waiting, bounds.batch_bytes);
        let mut carrying = std::pin::pin!(carry_out(&carry, &waker, &items));
        let carried = loop {
            tokio::select! {
                carried = &mut carrying => break carried,
                Some(()) = under_way.next() => {}
            }
        };
        match carried {
            Ok(carried) => under_way.push(tell_once_durable(answers, carried, &waker)),
            Err(results) => tell(answers, results),
        }
    }
    while under_way.next().await.is_some() {}
}

/// Takes from what waits as much as belongs in one transaction, at least one.
fn first<I, O>(
    waiting: &mut VecDeque<Waiting<I, O>>,
    bytes_max: usize,
) -> (Vec<I>, Vec<Answer<O>>) {
    let (mut items, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
    while let Some(next) = waiting.pop_front() {
        bytes += next.cost as usize;
        if bytes > bytes_max && !items.is_empty() {
            waiting.push_front(next);
            break;
        }
        items.push(next.item);
        answers.push(next.answer);
    }
    (items, answers)
}

type Answer<O> = oneshot::Sender<Result<O, StoreError>>;

fn tell<O>(answers: Vec<Answer<O>>, results: impl IntoIterator<Item = Result<O, StoreError>>) {
    for (answer, result) in answers.into_iter().zip(results) {
        // A waiter that went away does not mind.
        let _ = answer.send(result);
    }
}

async fn tell_once_durable<O>(answers: Vec<Answer<O>>, carried: Carried<O>, waker: &Waker) {
    let Carried { outputs, due, durable } = carried;
    match within_time(durable.wait()).await {
        Ok(()) => {
            tell(answers, outputs.into_iter().map(Ok));
            waker.wake(due);
        }
        Err(error) => tell(answers, outputs.iter().map(|_| Err(error.again()))),
    }
}

/// Carries out a batch; when the store refuses it, each item alone, so that one bad item does
/// not fail the others. A store that is down is not asked again for every item.
async fn carry_out<I: Sync, O>(
    carry: &impl Carry<I, O>,
    waker: &Waker,
    items: &[I],
) -> Result<Carried<O>, Vec<Result<O, StoreError>>> {
    let once = |items| within_time(while_contended(move || carry.carry(items)));
    match once(items).await {
        Ok(carried) => Ok(carried),
        Err(StoreError::Refused(_)) if items.len() > 1 => {
            let mut results = Vec::with_capacity(items.len());
            for item in items {
                let alone = async {
                    let mut carried = once(std::slice::from_ref(item)).await?;
                    within_time(carried.durable.wait()).await?;
                    waker.wake(carried.due);
                    carried.outputs.pop().ok_or_else(|| StoreError::Refused("no result".into()))
                };
                results.push(alone.await);
            }
            Err(results)
        }
        Err(error) => Err(items.iter().map(|_| Err(error.again())).collect()),
    }
}

async fn within_time<T>(
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(BATCH_TIMEOUT, work).await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable(format!("no answer within {BATCH_TIMEOUT:?}")))
    })
}

/// Does it again at once while other transactions are in its way, a bounded number of times.
pub(super) async fn while_contended<T, F: Future<Output = Result<T, StoreError>>>(
    once: impl Fn() -> F,
) -> Result<T, StoreError> {
    let mut tries = 0;
    loop {
        match once().await {
            Err(StoreError::Contended(_)) if tries < CONTENDED_TRIES => tries += 1,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Told = Result<(), StoreError>;

    /// Carries everything at once, says that it did, and leaves the rest to the disk.
    struct Carrier(mpsc::UnboundedSender<oneshot::Sender<Told>>);

    impl Carry<u32, u32> for Carrier {
        async fn carry(&self, items: &[u32]) -> Result<Carried<u32>, StoreError> {
            let (tell, told) = oneshot::channel();
            self.0.send(tell).expect("a test");
            let (outputs, due) = (items.to_vec(), Due::default());
            Ok(Carried { outputs, due, durable: Durable::told(told) })
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
        let second_batch =
            batches.recv().await.expect("a batch beside the one that is not durable");
        assert!(!first.is_finished(), "answered before it was durable");
        first_batch.send(Ok(())).expect("somebody waits");
        assert_eq!(first.await.expect("a task").expect("durable"), 1);
        assert!(!second.is_finished(), "answered with the one before");
        second_batch.send(Err(StoreError::Unavailable("no disk".into()))).expect("one waits");
        second.await.expect("a task").expect_err("it never became durable");
    }
}

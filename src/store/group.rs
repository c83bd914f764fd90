//! Group commit: while one transaction is in flight, the next batch gathers.
//!
//! There is no timer: a lone request is a batch of one, at once. Each waiter is answered once the
//! commit is durable, which the next batch does not wait for, and one bad item fails alone.

use super::contended::while_contended;
use super::error::StoreError;
use super::wake::{Due, Wake};
use crate::clock::Clock;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, TryAcquireError, mpsc, oneshot};

/// Batches at once: those whose commits are under way, and one that writes. Two are not enough
/// where the disk takes longer than the writing.
const AT_ONCE: usize = 3;

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
    /// Work for others.
    pub(super) due: Due,
}

/// The right of a batch to write alone. It passes to the next batch at the latest with the end of
/// this one.
pub(super) struct Turn(Mutex<Option<oneshot::Sender<()>>>);

impl Turn {
    pub(super) fn new(pass: oneshot::Sender<()>) -> Self {
        Self(Mutex::new(Some(pass)))
    }

    /// Lets the next batch begin.
    pub(super) fn pass(&self) {
        // The receiver hears of it by the end of the sender.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Where others hear of work.
#[derive(Clone)]
pub(super) struct Waker(pub(super) Arc<Wake>, pub(super) Clock);

impl Waker {
    fn wake(&self, due: Due) {
        self.0.due(due, self.1.now_us());
    }
}

/// Carries out a batch in one transaction, and returns once it is durable. It passes its turn as
/// soon as the next batch may begin.
pub(super) trait Carry<I, O>: Send + Sync + 'static {
    fn carry(
        &self,
        items: &[I],
        turn: &Turn,
    ) -> impl Future<Output = Result<Carried<O>, StoreError>> + Send;
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
    // Batches under way. They are in this task and not in tasks of their own, as each of those
    // would wake a thread.
    let mut under_way = FuturesUnordered::new();
    let mut before: Option<oneshot::Receiver<()>> = None;
    loop {
        if let Some(passed) = &mut before {
            tokio::select! {
                biased;
                Some(()) = under_way.next() => {}
                _ = passed => before = None,
            }
            continue;
        }
        if under_way.len() >= AT_ONCE {
            under_way.next().await;
            continue;
        }
        if waiting.is_empty() {
            tokio::select! {
                biased;
                Some(()) = under_way.next() => continue,
                count = queue.recv_many(&mut received, bounds.batch) => match count {
                    0 => break,
                    _ => waiting.extend(received.drain(..)),
                }
            }
        }
        let (items, answers) = first(&mut waiting, bounds.batch_bytes);
        let (pass, passed) = oneshot::channel();
        before = Some(passed);
        under_way.push(carry_and_tell(&carry, &waker, items, answers, Turn::new(pass)));
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

async fn carry_and_tell<I: Sync, O>(
    carry: &impl Carry<I, O>,
    waker: &Waker,
    items: Vec<I>,
    answers: Vec<Answer<O>>,
    turn: Turn,
) {
    let turn = &turn;
    let once = |items| within_time(while_contended(move || carry.carry(items, turn)));
    match once(&items).await {
        Ok(carried) => {
            tell(answers, carried.outputs.into_iter().map(Ok));
            waker.wake(carried.due);
        }
        // Each item alone, so that one bad item does not fail the others. A store that is down is
        // not asked again for every item.
        Err(StoreError::Refused(_)) if items.len() > 1 => {
            for (item, answer) in items.iter().zip(answers) {
                let alone = once(std::slice::from_ref(item)).await.and_then(|mut carried| {
                    waker.wake(carried.due);
                    carried.outputs.pop().ok_or_else(|| StoreError::Refused("no result".into()))
                });
                tell(vec![answer], [alone]);
            }
        }
        Err(error) => tell(answers, items.iter().map(|_| Err(error.again()))),
    }
}

async fn within_time<T>(
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(BATCH_TIMEOUT, work).await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable(format!("no answer within {BATCH_TIMEOUT:?}")))
    })
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;

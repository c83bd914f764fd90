//! Group commit: while one transaction is in flight, the next batch gathers.
//!
//! There is no timer: a lone request is a batch of one, at once. Each waiter is answered after
//! the commit, and one bad item fails alone.

use super::error::StoreError;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, TryAcquireError, mpsc, oneshot};

/// Times that a batch is tried again at once when another transaction was in its way.
const CONTENDED_TRIES: usize = 8;

/// Time for a batch. No healthy store needs a second; one that cannot be heard of any more, such
/// as behind a cut wire, would otherwise keep everybody waiting until the kernel gives up.
const BATCH_TIMEOUT: Duration = Duration::from_secs(20);

struct Waiting<I, O> {
    item: I,
    cost: u32,
    answer: oneshot::Sender<Result<O, StoreError>>,
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

/// Carries out a batch in one transaction: one output an input, in order.
pub(super) trait Carry<I, O>: Send + Sync + 'static {
    fn carry(&self, items: &[I]) -> impl Future<Output = Result<Vec<O>, StoreError>> + Send;
}

impl<I: Send + Sync + 'static, O: Send + 'static> Group<I, O> {
    /// Starts the task that writes the batches. It ends when the last clone is dropped and what
    /// waits is written.
    pub(super) fn start(bounds: Bounds, carry: impl Carry<I, O>) -> Self {
        let (queue, waiting) = mpsc::channel(bounds.waiting);
        tokio::spawn(run(waiting, bounds, carry));
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
    carry: impl Carry<I, O>,
) {
    let mut waiting = Vec::with_capacity(bounds.batch);
    while queue.recv_many(&mut waiting, bounds.batch).await > 0 {
        let mut rest = waiting.drain(..).peekable();
        while rest.peek().is_some() {
            let (mut items, mut answers, mut bytes) = (Vec::new(), Vec::new(), 0);
            while let Some(next) = rest.next_if(|next| {
                items.is_empty() || bytes + next.cost as usize <= bounds.batch_bytes
            }) {
                bytes += next.cost as usize;
                items.push(next.item);
                answers.push(next.answer);
            }
            let results = carry_out(&carry, &items).await;
            for (answer, result) in answers.into_iter().zip(results) {
                // A waiter that went away does not mind.
                let _ = answer.send(result);
            }
        }
    }
}

/// Carries out a batch; when the store refuses it, each item alone, so that one bad item does
/// not fail the others. A store that is down is not asked again for every item.
async fn carry_out<I: Sync, O>(
    carry: &impl Carry<I, O>,
    items: &[I],
) -> Vec<Result<O, StoreError>> {
    match within_time(carry, items).await {
        Ok(outputs) => outputs.into_iter().map(Ok).collect(),
        Err(StoreError::Refused(_)) if items.len() > 1 => {
            let mut results = Vec::with_capacity(items.len());
            for item in items {
                let alone = within_time(carry, std::slice::from_ref(item)).await;
                results.push(alone.and_then(|mut outputs| {
                    outputs.pop().ok_or_else(|| StoreError::Refused("no result".into()))
                }));
            }
            results
        }
        Err(error) => items.iter().map(|_| Err(error.again())).collect(),
    }
}

async fn within_time<I: Sync, O>(
    carry: &impl Carry<I, O>,
    items: &[I],
) -> Result<Vec<O>, StoreError> {
    let carrying = while_contended(|| carry.carry(items));
    tokio::time::timeout(BATCH_TIMEOUT, carrying).await.unwrap_or_else(|_| {
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

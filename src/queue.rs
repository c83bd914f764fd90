//! The queue that apalis works on: a backend over our `jobs` table.
//!
//! A claimer hands leases to the worker. Errors of the store stay with it: an error out of a
//! backend would stop the worker and drop what is in flight.

mod claimer;

use crate::process::{Processor, Work};
use apalis::prelude::{Task, TaskBuilder, WorkerBuilder, WorkerContext};
use apalis_core::backend::finalize::Ephemeral;
use apalis_core::backend::{Backend, BackendConfig};
use apalis_core::task::task_id::RandomId;
use claimer::CLAIM_MAX;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

pub use claimer::Claimer;

/// The claimed leases, as a backend of apalis.
struct Leases(mpsc::Receiver<Work>);

impl Backend for Leases {
    type Task = Task<Work>;
    type Error = Infallible;

    fn poll_ready(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        worker: &WorkerContext,
    ) -> Poll<Option<Result<Task<Work>, Infallible>>> {
        let work = ready!(self.0.poll_recv(context));
        if work.is_none() {
            // The end of the tasks is not the end of a worker: it would wait to be stopped. An
            // error says that it has not started, and then there is nothing to stop.
            let _ = worker.stop();
        }
        Poll::Ready(work.map(|work| Ok(TaskBuilder::new(work).build())))
    }

    fn poll_close(
        &mut self,
        _: &mut Context<'_>,
        _: &WorkerContext,
    ) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }
}

impl BackendConfig for Leases {
    type Args = Work;
    type Id = RandomId;
    type Kind = Ephemeral;
    type Config = ();
    type Layer = tower::layer::util::Identity;

    fn config(&self) -> &() {
        &()
    }

    fn middleware(&mut self, _: &mut WorkerContext) -> Self::Layer {
        Self::Layer::new()
    }
}

/// Works on jobs until the claimer is told to stop and what is in flight is settled.
pub async fn work(claimer: Claimer, processor: Arc<Processor>) {
    let (sender, receiver) = mpsc::channel(CLAIM_MAX);
    let name = claimer.worker.to_string();
    let claiming = tokio::spawn(claimer.run(sender));
    let service = tower::service_fn(move |task: Task<Work>| {
        let processor = processor.clone();
        async move {
            // A task of its own: jobs then run on all threads. An error would stop the worker.
            if let Err(error) = tokio::spawn(async move { processor.run(task.args).await }).await {
                tracing::error!(%error, "processing broke off; a sweep will take the job over");
            }
            Ok::<(), Infallible>(())
        }
    });
    let worker = WorkerBuilder::new(name).backend(Leases(receiver)).build(service);
    if let Err(error) = worker.run().await {
        tracing::error!(%error, "the worker stopped");
    }
    claiming.abort();
}

//! Makes SQLite's commits durable: one sync of the log for all that were made meanwhile.
//!
//! SQLite would sync within each commit, and every transaction would wait for the disk of the one
//! before it. Here the writer goes on at once, and whoever committed is told when the log is on
//! the disk. Until then nobody may act on a commit: not answer a sender, not start a job.

use super::error::StoreError;
use futures_util::future::BoxFuture;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use tokio::sync::oneshot;

type Asked = oneshot::Sender<Result<(), StoreError>>;

/// The one that syncs. Cheap to clone; its thread ends with the last clone.
#[derive(Clone)]
pub(crate) struct LogSync(mpsc::Sender<Asked>);

/// A commit under way. It is durable once this has been waited for; on SQLite, others can see it
/// before. Whoever does not wait may have broken it off.
#[must_use = "a commit is durable only after `wait`"]
pub(crate) struct Durable(BoxFuture<'static, Result<(), StoreError>>);

/// What a sync came to.
enum Synced {
    /// All that was in the log is on the disk.
    Done,
    /// It did not begin, and may succeed the next time.
    Untried(io::Error),
    /// The kernel may have dropped what it could not write, and would report success the next time.
    Lost(io::Error),
}

impl Durable {
    /// Of a commit that goes on while it is waited for.
    pub(crate) fn after(
        commit: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Self {
        Self(Box::pin(commit))
    }

    /// Of a commit of which somebody else will tell.
    pub(super) fn told(told: oneshot::Receiver<Result<(), StoreError>>) -> Self {
        Self::after(async {
            told.await.unwrap_or_else(|_| {
                Err(StoreError::Unavailable("the log is not synced any more".into()))
            })
        })
    }

    /// Waits until the commit is on the disk.
    pub(crate) async fn wait(self) -> Result<(), StoreError> {
        self.0.await
    }
}

impl LogSync {
    /// Starts syncing the log of a database.
    pub(crate) fn start(database: &Path) -> io::Result<Self> {
        let log = log_of(database);
        Self::start_with(move || sync(&log))
    }

    fn start_with(sync: impl Fn() -> Synced + Send + 'static) -> io::Result<Self> {
        let (asking, asked) = mpsc::channel();
        thread::Builder::new().name("store-sync".into()).spawn(move || run(&sync, &asked))?;
        Ok(Self(asking))
    }

    /// For a commit that has just returned.
    pub(crate) fn ask(&self) -> Durable {
        let (tell, told) = oneshot::channel();
        // Where nobody listens any more, the waiter is told so.
        let _ = self.0.send(tell);
        Durable::told(told)
    }
}

/// The write-ahead log of a database.
pub(super) fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

fn run(sync: &impl Fn() -> Synced, asked: &mpsc::Receiver<Asked>) {
    while let Ok(first) = asked.recv() {
        // All of them committed before this sync begins, so that it holds for all of them.
        let mut waiting = vec![first];
        waiting.extend(asked.try_iter());
        let synced = sync();
        for tell in waiting {
            // A waiter that went away does not mind.
            let _ = tell.send(match &synced {
                Synced::Done => Ok(()),
                Synced::Untried(error) | Synced::Lost(error) => Err(failed(error)),
            });
        }
        if let Synced::Lost(error) = synced {
            tracing::error!(%error, "the SQLite log cannot be synced: nothing is taken any more; \
                see to the disk and restart");
            // Nothing is durable from here on, until the log has been read anew.
            return;
        }
    }
}

fn failed(error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("the log cannot be synced: {error}"))
}

/// Opened anew each time: whoever closes the last connection removes the log, and a sync of one
/// that was removed would say nothing about the new one. What was removed is in the database.
fn sync(log: &Path) -> Synced {
    match OpenOptions::new().write(true).open(log) {
        Ok(log) => log.sync_data().map_or_else(Synced::Lost, |()| Synced::Done),
        Err(error) if error.kind() == ErrorKind::NotFound => Synced::Done,
        Err(error) => Synced::Untried(error),
    }
}

#[cfg(test)]
#[path = "durable_tests.rs"]
mod durable_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::task::JoinHandle;

    /// A disk that waits for permission before each sync, and does what it is told to.
    pub(super) struct Disk {
        pub(super) log: LogSync,
        pub(super) begun: mpsc::Receiver<()>,
        pub(super) go: mpsc::Sender<Synced>,
        syncs: Arc<AtomicUsize>,
    }

    pub(super) fn disk() -> Disk {
        let ((begin, begun), (go, gone)) = (mpsc::channel(), mpsc::channel());
        let syncs = Arc::new(AtomicUsize::new(0));
        let counted = syncs.clone();
        let sync = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = begin.send(());
            gone.recv().unwrap_or_else(|error| Synced::Untried(io::Error::other(error)))
        };
        let log = LogSync::start_with(sync).expect("a thread");
        Disk { log, begun, go, syncs }
    }

    /// A sync that has not begun by then will not.
    pub(super) const LONG: Duration = Duration::from_secs(10);

    fn waiting(durable: Durable) -> JoinHandle<Result<(), StoreError>> {
        tokio::spawn(durable.wait())
    }

    #[tokio::test]
    async fn a_sync_serves_those_who_asked_before_it_began_and_nobody_else() {
        let Disk { log, begun, go, syncs } = disk();
        let first = waiting(log.ask());
        begun.recv_timeout(LONG).expect("the first sync");
        let late: Vec<_> = (0..3).map(|_| waiting(log.ask())).collect();
        go.send(Synced::Done).expect("a disk");
        first.await.expect("a task").expect("durable");
        begun.recv_timeout(LONG).expect("the second sync");
        assert!(late.iter().all(|late| !late.is_finished()), "the first sync was too early");
        go.send(Synced::Done).expect("a disk");
        for late in late {
            late.await.expect("a task").expect("durable");
        }
        assert_eq!(syncs.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_is_durable_any_more() {
        let Disk { log, go, syncs, .. } = disk();
        go.send(Synced::Lost(io::Error::other("worn out"))).expect("a disk");
        let failed = log.ask().wait().await.expect_err("not durable");
        assert!(failed.to_string().contains("worn out"), "{failed}");
        let _ = go.send(Synced::Done);
        log.ask().wait().await.expect_err("the kernel may have dropped what it could not write");
        assert_eq!(syncs.load(Ordering::SeqCst), 1, "it is not tried again");
    }

    #[tokio::test]
    async fn a_log_that_was_removed_is_in_the_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = LogSync::start(&folder.path().join("ledger.db")).expect("a thread");
        log.ask().wait().await.expect("durable");
        // A folder cannot be opened for writing.
        let in_its_way = folder.path().join("ledger.db-wal");
        std::fs::create_dir(&in_its_way).expect("a folder");
        log.ask().wait().await.expect_err("the log cannot be opened");
        std::fs::remove_dir(&in_its_way).expect("a folder");
        log.ask().wait().await.expect("nothing was lost by that");
    }
}

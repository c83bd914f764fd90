//! A listener at work, and its end.

use actix_web::dev::{Server, ServerHandle};
use tokio::task::JoinHandle;

/// A listener at work.
pub struct Running {
    handle: ServerHandle,
    task: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Sets a server to work.
    pub fn start(server: Server) -> Self {
        Self { handle: server.handle(), task: tokio::spawn(server) }
    }

    /// Takes no more requests, and returns when those under way are answered.
    pub async fn stop(self) {
        self.handle.stop(true).await;
        if let Ok(Err(error)) = self.task.await {
            tracing::error!(%error, "a listener broke off");
        }
    }
}

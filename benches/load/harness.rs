//! What the tests have already: a throw-away PostgreSQL, a look into a database from outside, and
//! a guard that ends what was started however this process ends.

#[expect(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/it/harness/database.rs"]
pub mod database;
#[expect(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/it/harness/guard.rs"]
pub mod guard;
#[expect(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/it/harness/postgres.rs"]
pub mod postgres;

/// How long the harness waits for something to become true.
mod ledger {
    use std::time::Duration;

    pub const PATIENCE: Duration = Duration::from_secs(30);
    pub const PAUSE: Duration = Duration::from_millis(10);
}

/// Ports.
mod wire {
    use std::net::TcpListener;

    /// A port below those that the kernel gives to outgoing connections.
    pub fn free_port() -> u16 {
        let candidates = std::iter::repeat_with(|| rand::random_range(20_000..32_000));
        let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
        free.next().expect("one is free")
    }
}

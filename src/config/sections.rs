//! The sections of which there is one: what every key means, its default and why, its limits.
//!
//! Nothing is decided here: what depends on several keys is checked in `check`.

use super::read::section;
use super::scalars::PublicUrl;
use super::secret::{Held, Located};
use super::units::Size;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

section! {
    /// `[server]`: the public listener.
    Server {
        /// Where webhooks are received. Loopback, so that nothing is public by accident.
        listen: SocketAddr = "127.0.0.1:8080",
        /// The base URL under which senders reach the listener, for printing URLs and for schemes
        /// that sign the URL. None, because only the operator knows it.
        public_url: Option<PublicUrl> => "none",
        /// Time for a request's headers. Senders need milliseconds; a slow client is cut off.
        header_timeout: Duration = "10s" ["100ms" to "5m"],
        /// Time for a whole body. Enough for 25 MiB at 7 Mbit/s; senders give up after 10s to 30s
        /// themselves.
        body_timeout: Duration = "30s" ["100ms" to "10m"],
        /// Connections open at once. Far more than senders open, and each costs a file handle.
        connections_max: usize = "4096" ["1" to "1000000"],
        /// Memory for the bodies of unanswered requests; beyond it, 503. Two of the largest bodies
        /// that GitHub sends, or thousands of ordinary ones.
        body_memory: Size = "64MiB" ["1MiB" to "64GiB"],
        /// Threads that serve requests. One per core, because they never block.
        threads: Option<usize> => "one per core" ["1" to "1024"],
        /// Time to finish open requests when stopping. As long as container platforms wait.
        shutdown: Duration = "30s" ["0s" to "10m"],
    }
}

section! {
    /// `[admin]`: the listener of the API, the console, health and metrics.
    Admin {
        /// Where the operator reaches it. Loopback; elsewhere only with a configured token.
        listen: SocketAddr = "127.0.0.1:8081",
        /// The token that its callers present. Generated, because a well-known one is none.
        token: Option<Held> => "generated into data_dir/admin-token",
    }
}

section! {
    /// `[store]`: where deliveries and jobs are kept.
    Store {
        /// `sqlite:PATH`, `postgres://...`, or a reference to such a URL, `env:NAME` or
        /// `file:/path`. SQLite, because it needs nothing else to run.
        url: Option<Located> => "sqlite:<data_dir>/posthouse.db",
        /// The directory of the database and of generated secrets, mode 0700. Beneath the working
        /// directory, so that a trial leaves nothing elsewhere.
        data_dir: PathBuf = "./data",
        /// Readers of SQLite, or the size of PostgreSQL's pool. Eight saturate two to four cores
        /// and leave most of PostgreSQL's usual hundred to others.
        connections: u32 = "8" ["2" to "256"],
        /// Requests that wait for the writer; beyond it, 503. A second's worth of writing.
        queue_max: usize = "4096" ["1" to "1000000"],
        /// Requests in one transaction. More hardly saves time and makes the first one wait.
        batch_max: usize = "128" ["1" to "1000"],
        /// Bytes of requests that wait for the writer; beyond it, 503. As much as `body_memory`.
        queue_bytes: Size = "64MiB" ["1MiB" to "64GiB"],
    }
}

section! {
    /// `[workers]`: what delivers.
    Workers {
        /// Jobs running at once. Enough to hide slow destinations and to settle in large groups,
        /// few enough not to flood anybody.
        concurrency: usize = "64" ["1" to "4096"],
        /// Time until a silent worker loses its job. Three missed heartbeats of ten seconds.
        lease: Duration = "30s" ["1s" to "1h"],
        /// How often to look for work without a wake-up. It only bounds what a lost one costs.
        poll: Duration = "1s" ["10ms" to "1m"],
        /// Time to finish running jobs when stopping. Below `server.shutdown`, to settle in time.
        shutdown: Duration = "25s" ["0s" to "10m"],
    }
}

section! {
    /// `[keys]`: public keys that senders keep elsewhere.
    RemoteKeys {
        /// Whether they are fetched. On, because only then senders can change them; what is pinned
        /// under a source is never fetched.
        fetch: bool = "true",
        /// Time to fetch one. A sender waits for its answer meanwhile.
        timeout: Duration = "3s" ["100ms" to "1m"],
        /// How long one is used before it is fetched again. Senders announce new ones days before.
        max_age: Duration = "1h" ["1m" to "30d"],
    }
}

section! {
    /// `[quarantine]`: refused requests that are kept one by one.
    Quarantine {
        /// How many are kept of each source, the oldest out first; 0 keeps none. An hour's worth of
        /// what most senders send, should a secret be wrong.
        count: usize = "100" ["0" to "10000"],
        /// Bytes that are kept of each source.
        bytes: Size = "4MiB" ["64KiB" to "1GiB"],
        /// Longer bodies are not kept, and cannot be promoted. Few are: strangers choose this one.
        body_max: Size = "256KiB" ["1KiB" to "64MiB"],
        /// Age at which they are deleted. A week, to notice and to mend.
        age: Duration = "7d" ["1m" to "90d"],
        /// A reference to the key under which the headers of refused requests are kept. Several
        /// machines need the same.
        key: Option<Held> => "generated into data_dir/quarantine-key",
    }
}

section! {
    /// `[retention]`: when to forget.
    Retention {
        /// Age at which bodies are deleted. Two weeks: an incident is noticed and replayed by then.
        bodies: Duration = "14d" ["1m" to "3650d"],
        /// Age at which attempts are deleted. They are small and explain complaints of last month.
        attempts: Duration = "30d" ["1m" to "3650d"],
        /// Age at which deliveries and their dedup keys are deleted. A month of
        /// redeliveries and some days; a provider that redelivers later prolongs it for itself.
        keys: Duration = "35d" ["1m" to "3650d"],
        /// How often to delete. Each time looks at all that is old; an hour more does not matter.
        interval: Duration = "1h" ["1s" to "1d"],
        /// Rows deleted in one transaction. Few, so that arrivals never wait long behind it.
        batch: usize = "500" ["1" to "10000"],
    }
}

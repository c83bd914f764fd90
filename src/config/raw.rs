//! What the whole configuration may say: the root, and the entries of which there are many.
//!
//! Values are of the right kind here, and nothing more: `check` makes sources, destinations and
//! routes of them. Nothing outside `config` sees these structs.

use super::kinds::Scheme;
use super::read::section;
use super::scalars::{PublicUrl, Way};
use super::secret::{Held, Located};
use super::sections::{Admin, Retention, Server, Store, Workers};
use super::units::Size;
use crate::source::{OnDead, Order};
use std::collections::BTreeMap;
use std::time::Duration;

section! {
    /// Everything.
    Raw {
        /// The public listener.
        server: Server => "",
        /// The operator's listener.
        admin: Admin => "",
        /// Where deliveries and jobs are kept.
        store: Store => "",
        /// What delivers.
        workers: Workers => "",
        /// When to forget.
        retention: Retention => "",
        /// Who may send.
        sources: BTreeMap<String, SourceKeys> => "",
        /// Where jobs go.
        destinations: BTreeMap<String, DestinationKeys> => "",
        /// What goes where.
        routes: Vec<RouteKeys> => "",
    }
}

section! {
    /// `[sources.NAME]`: an endpoint `/hooks/NAME`.
    SourceKeys {
        /// Who sends: the name of a provider, or `generic_hmac` or `generic_token`.
        provider: Option<String> => "required",
        /// References to the secrets, any of which may sign: two while one is being replaced.
        secrets: Vec<Held> => "required unless unsigned",
        /// Accepts anyone. Off, because whoever knows the URL could send anything.
        unsigned: bool = "false",
        /// Answers as if it did not exist.
        disabled: bool = "false",
        /// Larger bodies are refused with 413. What the provider says it may send.
        body_max: Option<Size> => "the provider's" ["1KiB" to "256MiB"],
        /// How far a signed time may lie off, both ways. What most providers recommend.
        tolerance: Duration = "300s" ["1s" to "1d"],
        /// The URL that the provider was given, for schemes that sign it.
        public_url: Option<PublicUrl> => "<server.public_url>/hooks/NAME",
        /// Deliveries a second; more are refused with 429. None: senders retry, but not for ever.
        rate: Option<u32> => "no limit" ["1" to "1000000"],
        /// How long its dedup keys live. At least as long as the provider may redeliver.
        keep_keys: Option<Duration> => "the longer of retention.keys and the provider's"
            ["1m" to "3650d"],
        /// How `generic_hmac` or `generic_token` proves and reads; see providers/README.md.
        scheme: Option<Scheme> => "none",
    }
}

section! {
    /// `[destinations.NAME]`: where jobs go.
    DestinationKeys {
        /// `http`, `command`, `log` or `handler`.
        r#type: Option<Way> => "required",
        /// http: where to send, or a reference to the URL, `env:NAME` or `file:/path`.
        url: Option<Located> => "required for http",
        /// http: further headers; their values are references to secrets.
        headers: BTreeMap<String, Held> => "none",
        /// http: time to connect, TLS included. Two packets may be lost on the way, not more.
        connect_timeout: Option<Duration> => "5s" ["10ms" to "5m"],
        /// Time for one attempt; then it has failed, and a program is killed. Requests should be
        /// answered at once, programs may work.
        timeout: Option<Duration> => "15s for http, 30s for command" ["10ms" to "1h"],
        /// http: may call private, loopback and link-local addresses. Off, because a redirect or
        /// a changed DNS record must not reach inner services.
        allow_private: Option<bool> => "false",
        /// http: a reference to the secret that signs what is sent, by Standard Webhooks.
        sign_with: Option<Held> => "none",
        /// command: the program and its arguments; never a shell line.
        argv: Vec<String> => "required for command",
    }
}

section! {
    /// `[[routes]]`: what goes where.
    RouteKeys {
        /// Its name, in logs and commands.
        name: Option<String> => "<source>-<destination>",
        /// The name of the source.
        source: Option<String> => "required",
        /// The name of the destination.
        destination: Option<String> => "required",
        /// Patterns over the kind of event, such as `pull_request.*`.
        events: Option<Vec<String>> => "every kind",
        /// `arrival`: jobs about one entity run in order; `none`: all at once. In order, because
        /// most receivers keep the last state they are told.
        order: Order = "arrival",
        /// Attempts in all. With the default waits they span about two days.
        max_attempts: i64 = "100" ["1" to "1000"],
        /// No attempt later than this after arrival. A weekend and a working day to repair.
        max_age: Duration = "3d" ["1s" to "365d"],
        /// The longest first wait; later ones double. Most failures are over in a second.
        backoff: Duration = "1s" ["1ms" to "1d"],
        /// The longest wait, `Retry-After` included. An hour after a repair all is under way.
        backoff_max: Duration = "1h" ["1ms" to "7d"],
        /// What a dead job does to its lane: `continue` or `halt`. One bad event must not stop an
        /// entity for ever.
        on_dead: OnDead = "continue",
    }
}

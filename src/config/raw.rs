//! What the whole configuration may say: the root, and the entries of which there are many.
//!
//! Values are of the right kind here, and nothing more: `check` makes sources, destinations and
//! routes of them. Nothing outside `config` sees these structs.

use super::alarms::Alarms;
use super::kinds::{Literal, Scheme};
use super::read::section;
use super::scalars::{PublicUrl, Way};
use super::secret::{Held, Located};
use super::sections::{Admin, Quarantine, RemoteKeys, Retention, Server, Store, Workers};
use super::units::Size;
use crate::source::{OnDead, Order, OrderBy, Statuses};
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
        /// Keys that senders keep elsewhere.
        keys: RemoteKeys => "",
        /// Refused requests that are kept.
        quarantine: Quarantine => "",
        /// When to forget.
        retention: Retention => "",
        /// What is told without being asked for.
        alarms: Alarms => "",
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
        secrets: Vec<Held> => "required unless unsigned or pending",
        /// Accepts anyone. Off, because whoever knows the URL could send anything.
        unsigned: bool = "false",
        /// A reference to the text that the sender has to show when it registers the URL, where it
        /// shows one, as Meta's `verify_token`.
        verify_token: Option<Held> => "none",
        /// The sender may hand over its secret, as Asana and Notion do when the URL is registered;
        /// it is kept in `data_dir/NAME.secret`. Off, because anyone else could hand one over.
        pending: bool = "false",
        /// Visits the link by which a sender wants a subscription confirmed, as Amazon SNS does,
        /// once the request is proved. On, because the secret names the one topic that may ask;
        /// off, the request is only recorded.
        confirm: bool = "true",
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
        /// How long it may send nothing before there is an alarm. What is usual is learned from its
        /// own deliveries, once there are 50 of them over a week.
        silent_after: Option<Duration> => "three times its longest gap in two weeks, at least 15m"
            ["1s" to "365d"],
        /// Records the events of a batch one by one, each under its own key; else a request is one
        /// delivery. On, because senders regroup events when they try again.
        split: bool = "true",
        /// Keys that the sender keeps elsewhere, by their URL (`URL#ID` for one of a list), each a
        /// reference to its text: `{ "https://sns.../x.pem" = "file:/path" }`. Never fetched.
        keys: BTreeMap<String, Held> => "fetched when they are wanted",
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
        timeout: Option<Duration> => "15s for http, 30s for command and handler" ["10ms" to "1h"],
        /// http: may call private, loopback and link-local addresses. Off, because a redirect or
        /// a changed DNS record must not reach inner services.
        allow_private: Option<bool> => "false",
        /// http: a reference to the secret that signs what is sent, by Standard Webhooks.
        sign_with: Option<Held> => "none",
        /// http: what a 2xx must say in its body to count as one; else the attempt has failed.
        accept: Option<AcceptKeys> => "the status decides",
        /// command: the program and its arguments; never a shell line.
        argv: Vec<String> => "required for command",
        /// Larger bodies are not sent: their jobs are dead at once, with the reason. None: what a
        /// source takes is delivered.
        body_max: Option<Size> => "no limit" ["1KiB" to "256MiB"],
        /// It recognises a repeat by its idempotency key, so that an attempt whose outcome is not
        /// known is made again. Off for programs, which are seldom written for it.
        idempotent: Option<bool> => "true, but false for command",
        /// Where to ask whether an attempt of unknown outcome happened, with `{idempotency_key}`
        /// in it: 200 it did, 404 it did not, anything else: ask again later.
        reconcile: Option<Located> => "none: an operator decides",
        /// Attempts a second, of all processes together. None: most can take what senders send.
        rate: Option<u32> => "no limit" ["1" to "100000"],
        /// Attempts at once, of all processes together. None: `workers.concurrency` bounds them.
        concurrency: Option<u32> => "no limit" ["1" to "4096"],
        /// When to leave it alone for a while.
        circuit: Option<CircuitKeys> => "",
    }
}

section! {
    /// `accept` of a destination.
    AcceptKeys {
        /// A JSON pointer into the answer, such as `/ok`.
        json: Option<String> => "required",
        /// What must stand there.
        equals: Option<Literal> => "required",
    }
}

section! {
    /// `[destinations.NAME.circuit]`: when a destination is left alone, so that its jobs do not
    /// use up their attempts and it can recover.
    CircuitKeys {
        /// Whether there is a circuit breaker. For commands and handlers, which seldom break as a
        /// whole, only if the section is there.
        enabled: bool = "true",
        /// Percent of attempts that fail. Half: the other half may be stale connections.
        failures: u32 = "50" ["1" to "100"],
        /// The time over which attempts are counted.
        window: Duration = "30s" ["1s" to "1h"],
        /// Fewer attempts within the window prove nothing.
        attempts: u32 = "20" ["1" to "10000"],
        /// How long before one job is let through to try; doubled each time it fails, up to
        /// tenfold. Long enough for a restart, too short to be missed.
        cooldown: Duration = "10s" ["100ms" to "1h"],
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
        /// Jobs about one entity run one at a time: `arrival` as they came, `occurred` as the
        /// sender says it happened, `latest` likewise, without those that come too late; `none`:
        /// all at once. In order, because most receivers keep the last state they are told.
        order: Order = "arrival",
        /// What the jobs that wait for one another are about: text with JSON pointers, such as
        /// `{/repository/id}/{/issue/number}`.
        order_by: Option<OrderBy> => "what the provider says",
        /// How long a job waits for earlier ones, with `occurred` and `latest`. Nothing, because
        /// only the operator knows how late events may come.
        hold: Duration = "0s" ["0s" to "1h"],
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
        /// What a job of unknown outcome does to its lane, until the doubt is resolved: `continue`
        /// or `halt`. Nothing is lost by going on.
        on_uncertain: OnDead = "continue",
        /// HTTP statuses that are tried again although they would be given up, such as
        /// `[404, "410"]`.
        retry_on: Vec<Statuses> => "none",
        /// HTTP statuses that are given up although they would be tried again, such as
        /// `["5xx"]`. They come before `retry_on`.
        dead_on: Vec<Statuses> => "none",
    }
}

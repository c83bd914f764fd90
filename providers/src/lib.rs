//! Who sends webhooks, how they sign, and what their events are.
//!
//! Every sender is one [`Provider`]; [`ALL`] lists them. The crate is pure: requests, secrets and
//! the time are arguments, and it never opens a socket, reads a clock or keeps a state.
//!
//! The order of steps is compiled: only [`sign`] can make a [`Proved`], and [`Provider::events`]
//! takes one, so no byte of a body is interpreted before its sender is proved.

mod admit;
mod encoding;
mod example;
pub mod generic;
mod github;
mod gitlab;
mod identity;
pub mod json;
mod rejection;
mod secret;
mod shopify;
pub mod sign;
mod slack;
mod standard_webhooks;
mod stripe;
pub mod text;

pub use admit::{Admitted, admit};
pub use rejection::Rejection;
pub use secret::Secret;
pub use sign::{Coverage, Proved, admit_unsigned};

/// One header list, in the order received. Names are lower case, values are raw bytes;
/// a repeated header appears once per line.
pub type Headers<'r> = [(&'r str, &'r [u8])];

/// A request as it arrived. `url` is the *configured* public URL with the query as received,
/// never rebuilt from `Host` or `X-Forwarded-*`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The method, upper case.
    pub method: &'r str,
    /// The public URL this source was registered under.
    pub url: &'r str,
    /// All headers.
    pub headers: &'r Headers<'r>,
    /// The body, byte for byte.
    pub body: &'r [u8],
}

impl<'r> Request<'r> {
    /// The value of a header that must appear exactly once and must not be empty.
    pub fn header(&self, name: &'static str) -> Result<&'r [u8], Rejection> {
        match self.header_if_present(name)? {
            None => Err(Rejection::HeaderMissing(name)),
            Some(b"") => Err(Rejection::HeaderEmpty(name)),
            Some(value) => Ok(value),
        }
    }

    /// The value of a header that may be absent, but not be repeated.
    pub fn header_if_present(&self, name: &'static str) -> Result<Option<&'r [u8]>, Rejection> {
        let mut found = None;
        for (candidate, value) in self.headers {
            if *candidate == name && found.replace(*value).is_some() {
                return Err(Rejection::HeaderRepeated(name));
            }
        }
        Ok(found)
    }
}

/// The present moment and how far from it a signed timestamp may lie, both ways.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Seconds since 1970.
    pub now_s: i64,
    /// Seconds of tolerance in both directions.
    pub tolerance_s: i64,
}

/// Where an event stands among those about the same entity. Unknown is a value of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// When it happened, in microseconds since 1970, as far as the sender says.
    pub occurred_at_us: Option<i64>,
    /// A number of the sender's that grows with every change of the entity.
    pub sequence: Option<i64>,
}

/// One event out of a proved request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The dedup key: the sender's own id of the delivery, or a digest where it has none.
    pub key: String,
    /// What happened, such as `pull_request.opened`. May be empty when the sender does not say.
    pub kind: String,
    /// What it is about: the lane. `None` means that order does not matter.
    pub entity: Option<String>,
    /// Its place among the events about that entity.
    pub position: Position,
    /// JSON pointers to body fields that change between redeliveries of the same event.
    pub volatile: &'static [&'static str],
    /// Where in a batch body the event is; `None` when the body is the event.
    pub part: Option<std::ops::Range<usize>>,
}

/// An answer that a sender wants instead of the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type` of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// A request to be signed as the provider would sign it, for trying a source out.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'d> {
    /// What kind of event, such as `push`.
    pub kind: &'d str,
    /// The delivery id to carry.
    pub key: &'d str,
    /// The body to send; `None` asks for the provider's own example of the kind.
    pub body: Option<&'d [u8]>,
    /// Seconds since 1970.
    pub now_s: i64,
}

/// A signed request: its headers and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Headers, `Content-Type` among them.
    pub headers: Vec<(String, String)>,
    /// The body that the signature covers.
    pub body: Vec<u8>,
}

/// What a check comes to.
type Verified<'r> = Result<Proved<'r>, Rejection>;

/// One sender of webhooks.
pub trait Provider: Send + Sync {
    /// The name used in configuration, such as `github`.
    fn name(&self) -> &'static str;

    /// What a valid signature of this sender proves.
    fn coverage(&self) -> Coverage {
        Coverage::Body
    }

    /// Headers of this sender, lower case, that describe the event and travel on to
    /// destinations. Never one that carries a signature or a secret.
    fn forwarded(&self) -> &'static [&'static str] {
        &[]
    }

    /// Bytes of body that this sender may legitimately send.
    fn body_bytes_max(&self) -> usize {
        1 << 20
    }

    /// Days that a dedup key must live so that late redeliveries are still recognised.
    fn horizon_days(&self) -> u32 {
        35
    }

    /// Says what is wrong with a secret before it is used, such as a prefix of another format.
    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        secret.api_key_fault()
    }

    /// Proves that whoever holds `secret` sent this request, or says which check failed.
    fn verify<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
    ) -> Result<Proved<'r>, Rejection>;

    /// A handshake to answer instead of recording an event.
    fn challenge(&self, proved: &Proved<'_>) -> Option<Reply> {
        let _ = proved;
        None
    }

    /// Reads the events of a proved request, in the order of the body; never an empty list.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection>;

    /// What the sender wants to hear when its events are recorded; `None` for the usual answer.
    fn accepted(&self) -> Option<Reply> {
        None
    }

    /// The status to refuse an unproved request with.
    fn refusal_status(&self) -> u16 {
        401
    }

    /// Signs a request as the sender would; `None` where its private key is not ours to have.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let _ = (draft, secret);
        None
    }
}

/// The provider of a name, if it needs no further configuration.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    ALL.iter().copied().find(|provider| provider.name() == name)
}

/// Every provider that needs no further configuration, by name.
pub static ALL: &[&dyn Provider] = &[
    &standard_webhooks::CLERK,
    &github::GitHub,
    &gitlab::GitLab,
    &standard_webhooks::OPENAI,
    &standard_webhooks::RESEND,
    &shopify::Shopify,
    &slack::Slack,
    &standard_webhooks::STANDARD_WEBHOOKS,
    &stripe::Stripe,
    &standard_webhooks::SUPABASE_AUTH,
    &standard_webhooks::SVIX,
];

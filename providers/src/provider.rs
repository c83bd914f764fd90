//! What every sender has to say about itself.

use crate::sign::{Coverage, Proved};
use crate::{
    Draft, Event, Handshake, Handshaking, Keys, Rejection, Reply, Request, Secret, Signed, Visit,
    Window,
};

/// What a check comes to.
pub(crate) type Verified<'r> = Result<Proved<'r>, Rejection>;

/// What people read about a provider, in tables; backticks mark what is literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The sender's name as it writes it.
    pub title: &'static str,
    /// How it proves itself.
    pub proof: &'static str,
    /// What the key is made of.
    pub key: &'static str,
    /// What the lane is.
    pub entity: &'static str,
    /// Where the position stands, or that it is unknown.
    pub position: &'static str,
}

/// One sender of webhooks.
pub trait Provider: Send + Sync {
    /// The name used in configuration, such as `github`.
    fn name(&self) -> &'static str;

    /// What the tables of providers say of it.
    fn facts(&self) -> Facts;

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

    /// Milliseconds that this sender waits for an answer; `None` where it does not say.
    fn answer_deadline_ms(&self) -> Option<u32> {
        None
    }

    /// Says what is wrong with a secret before it is used, such as a prefix of another format.
    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        secret.api_key_fault()
    }

    /// The methods that its deliveries may come by, besides GET.
    fn methods(&self) -> &'static [&'static str] {
        &["POST"]
    }

    /// The header by which a delivery that comes by GET is told from somebody who looks at the URL;
    /// `None` where none comes so.
    fn delivers_by_get(&self) -> Option<&'static str> {
        None
    }

    /// Whether a request is to be proved and recorded. A look at the URL is not worth a refusal.
    fn is_delivery(&self, request: &Request<'_>) -> bool {
        let is_shown = |header| request.header_lines(header).next().is_some();
        match request.method {
            "GET" => self.delivers_by_get().is_some_and(is_shown),
            method => self.methods().contains(&method),
        }
    }

    /// A handshake that comes before any proof, by whatever method; `None` for every request that
    /// is to be proved. What this answers, anyone can make it answer: where a sender wants its
    /// challenge signed, only a challenge of a form that no signed request has may be.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        let _ = (request, at);
        None
    }

    /// Proves that whoever holds `secret` sent this request, or says which check failed. Where
    /// the sender's key lives elsewhere, that is [`Rejection::KeyWanted`].
    fn verify<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
    ) -> Result<Proved<'r>, Rejection>;

    /// As [`Self::verify`], with remote keys at hand.
    fn verify_with_keys<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
        keys: &dyn Keys,
    ) -> Result<Proved<'r>, Rejection> {
        let _ = keys;
        self.verify(request, secret, window)
    }

    /// A proved handshake to answer instead of recording an event.
    fn challenge(&self, proved: &Proved<'_>) -> Option<Reply> {
        let _ = proved;
        None
    }

    /// As [`Self::challenge`], for answers that are made with the secret that proved the request.
    fn challenge_with(&self, proved: &Proved<'_>, secret: &Secret) -> Option<Reply> {
        let _ = secret;
        self.challenge(proved)
    }

    /// Reads the events of a proved request, in the order of the body. An empty list says that a
    /// genuine request carries nothing to record, as senders' tests and heartbeats do.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection>;

    /// Reads a proved request as one event, for sources that do not split batches; `None` where
    /// it carries nothing.
    fn whole(&self, proved: &Proved<'_>) -> Result<Option<Event>, Rejection> {
        Ok(crate::event::whole(self.events(proved)?))
    }

    /// A link that the sender wants visited once the request is recorded, as one that confirms a
    /// subscription; `None` for all other requests. Asked only of what a secret has proved.
    fn visit(&self, proved: &Proved<'_>) -> Option<Visit> {
        let _ = proved;
        None
    }

    /// What the sender wants to hear when its events are recorded; `None` for the usual answer.
    fn accepted(&self) -> Option<Reply> {
        None
    }

    /// The status to refuse an unproved request with.
    fn refusal_status(&self) -> u16 {
        401
    }

    /// The query that the URL carries where a secret stands in it; it is as secret as that.
    fn query(&self, secret: &Secret) -> Option<String> {
        let _ = secret;
        None
    }

    /// Signs a request as the sender would; `None` where its private key is not ours to have.
    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let _ = (draft, secret);
        None
    }
}

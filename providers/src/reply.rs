//! Answers that a sender wants instead of the usual one, and the handshakes that come before any
//! proof: a URL that is being registered has no secret to sign with yet.

use crate::Secret;

/// An answer that a sender wants instead of the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type` of the body.
    pub content_type: &'static str,
    /// Further headers, names lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A status and no body.
    pub fn empty(status: u16) -> Self {
        Self::text(status, Vec::new())
    }

    /// A body of plain text: what a stranger sent is never given back as a page.
    pub fn text(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type: "text/plain", headers: Vec::new(), body: body.into() }
    }

    /// A body of JSON, with 200.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self { content_type: "application/json", ..Self::text(200, body) }
    }
}

/// What a source knows while a handshake comes in.
#[derive(Clone, Copy, Debug)]
pub struct Handshaking<'s> {
    /// The source's secrets; there may be none yet.
    pub secrets: &'s [Secret],
    /// The text that the sender must show to register the URL, where it has one.
    pub verify_token: Option<&'s Secret>,
    /// Whether the operator is registering the source right now. Only then may a sender hand over
    /// a secret: at any other time, anyone could replace it.
    pub pending: bool,
}

/// A handshake to answer. Nothing of it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// What the sender wants to hear.
    pub reply: Reply,
    /// A secret that the sender handed over, to be kept for this source.
    pub plants: Option<String>,
}

impl Handshake {
    /// A handshake that leaves nothing behind.
    pub(crate) fn answer(reply: Reply) -> Option<Self> {
        Some(Self { reply, plants: None })
    }
}

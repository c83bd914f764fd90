//! Requests that are signed here, to try a source out.

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
    /// The public URL of the source, which some senders sign.
    pub url: &'d str,
}

/// A signed request: its headers and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Headers, `Content-Type` among them.
    pub headers: Vec<(String, String)>,
    /// The body that the signature covers.
    pub body: Vec<u8>,
}

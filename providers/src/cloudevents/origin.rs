//! The question whether a sender may send, asked with OPTIONS before anything is sent.

use crate::{Handshake, Reply, Request};

/// Says yes to a sender that names itself by a plain host name below one of `hosts`, or by any
/// where there are none.
pub(crate) fn allow(request: &Request<'_>, hosts: &[&str]) -> Option<Handshake> {
    if request.method != "OPTIONS" {
        return None;
    }
    let text = |name| std::str::from_utf8(request.header(name).ok()?).ok();
    let origin = text("webhook-request-origin")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
    let below = |host: &&str| {
        origin.strip_suffix(*host).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if origin.len() > 255 || !origin.bytes().all(plain) {
        return None;
    }
    if !hosts.is_empty() && !hosts.iter().any(below) {
        return None;
    }
    let mut headers = vec![("webhook-allowed-origin", origin.to_owned())];
    let is_rate = |rate: &&str| {
        (1..=9).contains(&rate.len()) && rate.bytes().all(|byte| byte.is_ascii_digit())
    };
    if let Some(rate) = text("webhook-request-rate").filter(is_rate) {
        headers.push(("webhook-allowed-rate", rate.to_owned()));
    }
    Handshake::answer(Reply { headers, ..Reply::empty(200) })
}

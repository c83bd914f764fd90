//! Handshakes that come before any proof: a URL that is being registered.
//!
//! Answered and counted, recorded nowhere. Whatever is answered here, anyone can have answered. A
//! secret that a sender hands over is taken only while the operator says `pending`, once, and is
//! on disk before the sender hears that it was taken.

use super::{Answer, Entry, Head, Intake};
use crate::config::keep_secret;
use crate::source::Source;
use providers::{Handshake, Handshaking, Reply, Secret};
use std::path::Path;
use subtle::ConstantTimeEq;

/// Bytes of a secret that is taken from a sender. Asana's and Notion's have 64 at most.
const SECRET_BYTES_MAX: usize = 1024;

/// Why a secret is not taken.
enum Refused {
    /// It is no secret, or it is not the time for one.
    Unwanted(String),
    /// It cannot be kept.
    Unkept(std::io::Error),
}

impl Intake {
    /// Answers a handshake that comes by a method without a body; `None` if it is none.
    pub fn greet(&self, name: &str, head: &Head<'_>) -> Option<Answer> {
        let answer = self.handshake(self.entry(name)?, head, b"")?;
        self.metrics.received.with_label_values(&[name]).inc();
        Some(answer)
    }

    /// Answers a handshake; `None` for every request that is to be proved.
    pub(super) fn handshake(&self, entry: &Entry, head: &Head<'_>, body: &[u8]) -> Option<Answer> {
        let source = &entry.source;
        entry.look_for_handed();
        let url = source.url(head.target);
        let at = Handshaking {
            secrets: entry.secrets(),
            verify_token: source.verify_token.as_ref(),
            pending: source.pending,
        };
        let request = head.request(&url, body);
        let Handshake { reply, plants } = source.provider.handshake(&request, &at)?;
        if let Some(text) = plants {
            match entry.take(&text) {
                Ok(()) => {}
                Err(Refused::Unwanted(why)) => {
                    self.refuse(&source.name, "handshake", &why);
                    return Some(Answer::NotProved(source.provider.refusal_status()));
                }
                Err(Refused::Unkept(error)) => {
                    tracing::error!(source = %source.name, %error,
                        "the secret that the sender handed over cannot be kept");
                    self.refuse(&source.name, "store", "a secret could not be kept");
                    return Some(Answer::Unavailable);
                }
            }
        }
        self.metrics.handshakes.with_label_values(&[&*source.name]).inc();
        Some(Answer::Reply(reply))
    }
}

impl Entry {
    /// Takes a secret from the sender: into a file, then into use. The same one may come again, as
    /// the answer to the first may have been lost; another one may not.
    fn take(&self, text: &str) -> Result<(), Refused> {
        let source = &self.source;
        if !source.pending {
            return Err(Refused::Unwanted(
                "a secret was handed over, and it is not pending".into(),
            ));
        }
        let secret = secret(source, text).map_err(Refused::Unwanted)?;
        let path = &source.handed_path;
        if self.handed.get().is_none() && keep_secret(path, text).map_err(Refused::Unkept)? {
            tracing::warn!(source = %source.name, file = %path.display(),
                "the sender handed over its secret; it is kept and in use: take `pending` away");
        }
        let kept = kept(path).map_err(Refused::Unkept)?;
        if !bool::from(kept.expose().as_bytes().ct_eq(secret.expose().as_bytes())) {
            return Err(Refused::Unwanted(format!(
                "another secret was handed over; the first one stands, in {}: take `pending` \
                 away, or delete the file and restart to take another",
                path.display()
            )));
        }
        self.use_also(kept);
        Ok(())
    }

    /// Another process with the same data directory may have taken the secret.
    pub(super) fn look_for_handed(&self) {
        if self.source.pending
            && self.handed.get().is_none()
            && let Ok(secret) = kept(&self.source.handed_path)
        {
            self.use_also(secret);
        }
    }

    fn use_also(&self, secret: Secret) {
        self.handed.get_or_init(|| {
            let mut secrets = self.source.secrets.clone();
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
            secrets
        });
    }
}

fn kept(path: &Path) -> std::io::Result<Secret> {
    let text = std::fs::read_to_string(path)?;
    Secret::new(&text).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// A text as a secret of a source, or why it cannot be one.
fn secret(source: &Source, text: &str) -> Result<Secret, String> {
    let printable = text.chars().all(|letter| !letter.is_control()) && text.trim() == text;
    let secret = Secret::new(text).filter(|_| printable && text.len() <= SECRET_BYTES_MAX);
    let secret = secret.ok_or("what was handed over is no secret: empty, long or not printable")?;
    match source.provider.secret_fault(&secret) {
        Some(fault) => Err(format!("the secret that was handed over {fault}")),
        None => Ok(secret),
    }
}

/// The header lines of a reply that can stand in an answer. A handshake gives back what anyone may
/// have sent; a line end in it must not begin a line of ours.
pub fn header_lines(reply: &Reply) -> impl Iterator<Item = (&'static str, &str)> {
    let plain = |text: &str| text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let lines = reply.headers.iter().map(|(name, value)| (*name, value.as_str()));
    lines.filter(move |(_, value)| plain(value))
}

//! Secrets by reference: `env:NAME` and `file:/path`.
//!
//! A secret is taken as it stands: nothing in it is expanded, decoded or trimmed, save one line
//! end at the end of a file, which editors and secret stores add. The configuration itself never
//! holds a secret, and neither a fault nor `show` ever repeats one.

use super::read::{Kind, Place};
use ::config::{Value, ValueKind};
use providers::Secret;
use serde_json::Value as Json;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A secret file is read up to here; the longest secret in use, an RSA key, has 4 KiB.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// What to say to a secret that stands in the configuration itself.
const LITERAL: &str = "expected a reference, \"env:NAME\" or \"file:/path\"; a secret itself does \
    not belong into the configuration: put it into an environment variable or a file, and refer \
    to that";

/// A secret and where it came from.
#[derive(Clone, Debug)]
pub struct Held {
    /// The reference as written; empty if what was written was no reference.
    reference: String,
    /// What it refers to; `None` only after a fault.
    secret: Option<Secret>,
    /// It would be generated on first start, and nothing may be written now.
    unwritten: bool,
}

impl Held {
    /// The secret. Every secret of a checked configuration is there.
    pub fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }
}

impl Kind for Held {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        let mut held = Self { reference: String::new(), secret: None, unwritten: false };
        match value.kind {
            ValueKind::String(text) if is_reference(&text) => {
                let path = text.strip_prefix("file:").map(Path::new);
                held.unwritten = path.is_some_and(|path| at.reading.unwritten.contains_key(path));
                held.secret = resolve(&text, at);
                held.reference = text;
            }
            _ => at.fault(LITERAL),
        }
        Some(held)
    }

    fn show(&self) -> Json {
        let state = if self.unwritten { "generated on first start" } else { "set" };
        format!("{} ({state})", self.reference).into()
    }
}

/// A text that may hold a password, given outright or by reference: the URL of a database or of a
/// destination.
#[derive(Clone, Debug)]
pub struct Located {
    reference: Option<String>,
    text: Option<Secret>,
}

impl Located {
    /// A text that is not secret.
    pub(super) fn plain(text: &str) -> Self {
        Self { reference: None, text: Secret::new(text) }
    }

    /// The text; `None` only after a fault.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_ref().map(Secret::expose)
    }
}

impl Kind for Located {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        match value.kind {
            ValueKind::String(text) if is_reference(&text) => {
                let found = resolve(&text, at);
                Some(Self { reference: Some(text), text: found })
            }
            ValueKind::String(text) if !text.is_empty() => Some(Self::plain(&text)),
            _ => {
                at.fault("expected a URL, or a reference to one: \"env:NAME\" or \"file:/path\"");
                Some(Self { reference: None, text: None })
            }
        }
    }

    fn show(&self) -> Json {
        match (&self.reference, self.text()) {
            (Some(reference), _) => format!("{reference} (set)").into(),
            (None, text) => text.map_or(Json::Null, |text| hidden(text).into()),
        }
    }
}

/// A URL without its password and its query, in which passwords also occur.
fn hidden(text: &str) -> String {
    if text.starts_with("sqlite:") {
        return text.to_owned();
    }
    let Ok(mut url) = url::Url::parse(text) else { return "(set)".to_owned() };
    if url.password().is_some() && url.set_password(Some("***")).is_err() {
        return "(set)".to_owned();
    }
    if url.query().is_some() {
        url.set_query(Some("***"));
    }
    url.into()
}

/// Whether a text refers to something instead of being it.
fn is_reference(text: &str) -> bool {
    text.starts_with("env:") || text.starts_with("file:")
}

/// A secret that a sender handed over, if its file is there.
pub(super) fn kept(path: &Path, at: &Place<'_>) -> Option<Secret> {
    if !path.try_exists().unwrap_or(true) {
        return None;
    }
    let secret = Secret::new(&contents(path, at)?);
    if secret.is_none() {
        at.fault(format!("the file {} is empty", path.display()));
    }
    secret
}

/// Looks up what a reference refers to, or records why there is nothing.
fn resolve(reference: &str, at: &Place<'_>) -> Option<Secret> {
    let (text, what) = match reference.split_once(':') {
        Some(("env", name)) => (variable(name, at)?, format!("the environment variable {name}")),
        Some((_, path)) => (contents(Path::new(path), at)?, format!("the file {path}")),
        None => return None,
    };
    if text.trim() != text && !text.trim().is_empty() {
        at.note(&format!("{what} begins or ends with white space, which is part of the secret"));
    }
    let secret = Secret::new(&text).filter(|_| !text.trim().is_empty());
    if secret.is_none() {
        at.fault(format!("{what} is empty"));
    }
    secret
}

/// The value of an environment variable.
fn variable(name: &str, at: &Place<'_>) -> Option<String> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(word) {
        // Not repeated: it may be a secret that somebody wrote behind `env:`.
        at.fault("what follows \"env:\" is not the name of an environment variable");
        return None;
    }
    let value = at.reading.environment.get(name).cloned();
    if value.is_none() {
        at.fault(format!("the environment variable {name} is not set"));
    }
    value
}

/// The contents of a secret file, without one line end at its end.
fn contents(path: &Path, at: &Place<'_>) -> Option<String> {
    if let Some(text) = at.reading.unwritten.get(path) {
        return Some(text.clone());
    }
    let shown = path.display();
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) => {
            at.fault(format!("the file {shown} cannot be read: {error}"));
            None
        }
        Ok(bytes) if bytes as u64 > FILE_BYTES_MAX => {
            at.fault(format!("the file {shown} is longer than {} KiB", FILE_BYTES_MAX >> 10));
            None
        }
        Ok(_) => {
            let trimmed = without_line_end(&text);
            if trimmed.len() < text.len() {
                at.note(&format!("the line end at the end of {shown} is not part of the secret"));
            }
            Some(trimmed.to_owned())
        }
    }
}

/// A text without the one line end at its end, if it has one.
pub(super) fn without_line_end(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

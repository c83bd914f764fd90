//! What is held of every request, however it was bent: it is admitted only under a proof, what is
//! read of it is within bounds, and neither takes more memory than its size allows.
//!
//! A proof is checked anew without looking at any signature: under another secret the request must
//! be refused, a body that is covered must be one that was really signed, and any byte of it that
//! changes must be missed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use allocation_counter::measure;
use providers::text::form_fields;
use providers::{
    Admitted, Coverage, Event, Part, Rejection, Reply, Secret, admit_unsigned, admit_unsigned_with,
};

use super::senders::Sender;
use crate::case::Case;

/// Events of one request, as the crate promises.
pub const EVENTS_MAX: usize = 10_000;
/// Bytes at any one time for a request of no size: the tables of P-256 alone take 280 KB.
const PEAK_BYTES: usize = 512 << 10;
/// Bytes at any one time for each byte of a request.
const PEAK_PER_BYTE: usize = 16;
/// Bytes at any one time for each event: itself, its key and the sender's form around it.
const PEAK_PER_EVENT: usize = 3_072;

/// Holds of any request to a sender.
pub fn hold(sender: &Sender, case: &Case) {
    let _told = Told(sender, case);
    let outcome = within_memory(case, || case.admit(sender.provider));
    let timed_out = |case: &Case| {
        matches!(case.admit(sender.provider), Err(Rejection::TimestampOutside { .. }))
    };
    match outcome {
        Ok(_) | Err(Rejection::Unreadable(_)) => proved(sender, case),
        Err(Rejection::TimestampOutside { .. }) => {
            assert!(!timed_out(&other_secret(case)), "a time is judged before its proof");
        }
        Err(_) => {}
    }
    if let Ok(admitted) = &outcome {
        bounded(case, admitted);
    }
    unsigned(sender, case);
}

/// Holds of a request that nobody signed: what covers its body cannot have been guessed.
pub fn hold_of_noise(sender: &Sender, case: &Case) {
    let covered = case.coverage(sender.provider) == Some(Coverage::Body);
    assert!(!covered, "{}: noise is proved", sender.provider.name());
    hold(sender, case);
}

fn proved(sender: &Sender, case: &Case) {
    let provider = sender.provider;
    assert!(!other_secret(case).proved(provider), "it is proved under any secret");
    let Some(coverage) = case.coverage(provider) else { panic!("it is admitted without a proof") };
    let weakest = provider.coverage();
    assert!(coverage == Coverage::Body || coverage == weakest, "{coverage:?} is too little");
    // Beside another proof, which decides, the header of a time means nothing.
    let decides = |header: &String| {
        let mut without = case.clone();
        without.headers.retain(|(name, _)| name != header);
        without.headers.len() < case.headers.len() && !without.proved(provider)
    };
    if sender.proof.timed.iter().any(|header| header == "*" || decides(header)) {
        // As far away as a tolerance may be chosen, and a year.
        for years in [-1, 1] {
            let now_s = case.now_s.saturating_add(years * 31_622_400);
            let later = Case { now_s, tolerance_s: 86_400, ..case.clone() };
            assert!(!later.proved(provider), "it is good for ever");
        }
    }
    if coverage != Coverage::Body && !sender.proof.by_checksum {
        return;
    }
    if sender.proof.in_body {
        // Fields beside the signed one may say what they like, as nothing is read from them.
        let read = parts(sender, case);
        let is_genuine = |genuine: &Case| parts(sender, genuine) == read;
        assert!(sender.cases.iter().any(is_genuine), "events are read that nobody signed");
        return;
    }
    let content = content(&case.body);
    let is_genuine = |body: &Vec<u8>| *body == case.body || self::content(body) == content;
    assert!(sender.bodies.iter().any(is_genuine), "a body is proved that nobody signed");
    for at in [0, case.body.len() / 2, case.body.len().saturating_sub(1)] {
        let mut other = case.clone();
        if let Some(byte) = other.body.get_mut(at) {
            *byte ^= 1;
            let same = self::content(&other.body) == content;
            assert!(same || !other.proved(provider), "byte {at} of the body is not covered");
        }
    }
}

/// What a body says to senders that sign the fields of a form: names and values side by side, in
/// the order of the names. Their schemes leave open where a name ends and its value begins.
fn content(body: &[u8]) -> Vec<u8> {
    let mut fields: Vec<_> = form_fields(body).collect();
    fields.sort();
    fields.dedup();
    fields.iter().flat_map(|(name, value)| [&**name, &**value].concat()).collect()
}

/// The keys and bodies of the events of a request.
fn parts(sender: &Sender, case: &Case) -> Vec<(String, Option<Part>)> {
    match case.admit(sender.provider) {
        Ok(Admitted::Events { events, .. }) => {
            events.into_iter().map(|event| (event.key, event.part)).collect()
        }
        _ => Vec::new(),
    }
}

/// The same request to a source whose secrets are others of the same form.
fn other_secret(case: &Case) -> Case {
    let other = |secret: &Secret| {
        let text = secret.expose();
        // Not zeros at the end: HMAC fills a short key with them.
        let text = match text.split_once('_') {
            Some(("whpk", _)) => "whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned(),
            Some(("whsec", _)) => "whsec_YW5vdGhlci1zZWNyZXQtYW5vdGhlci1zZWNyZXQ=".to_owned(),
            _ => format!("{text}Zm9v"),
        };
        Secret::new(&text).expect("it has a text")
    };
    Case { secrets: case.secrets.iter().map(other).collect(), ..case.clone() }
}

/// Reads the request as a source does that accepts anyone: whole and in parts.
fn unsigned(sender: &Sender, case: &Case) {
    let provider = sender.provider;
    let parts = within_memory(case, || case.run(|request, _| admit_unsigned(provider, request)));
    let whole = within_memory(case, || {
        case.run(|request, _| admit_unsigned_with(provider, request, false))
    });
    if let Ok(parts) = &parts {
        bounded(case, parts);
    }
    if let Ok(whole) = &whole {
        bounded(case, whole);
        let events = |admitted: &Admitted| match admitted {
            Admitted::Events { events, .. } => events.len(),
            Admitted::Challenge(_) => 0,
        };
        assert!(events(whole) <= 1, "a whole is one event");
    }
}

fn within_memory<T>(
    case: &Case,
    read: impl FnOnce() -> Result<Admitted, T>,
) -> Result<Admitted, T> {
    let mut outcome = None;
    // A panic must not leave the measure in the middle: what fails is tried again, smaller.
    let caught = || outcome = Some(catch_unwind(AssertUnwindSafe(read)));
    let peak = measure(caught).bytes_max as usize;
    let outcome = outcome.expect("it was run").unwrap_or_else(|panic| resume_unwind(panic));
    let events = match &outcome {
        Ok(Admitted::Events { events, .. }) => events.len(),
        _ => 0,
    };
    let headers: usize = case.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let secrets: usize = case.secrets.iter().map(|secret| secret.expose().len()).sum();
    let keys: usize = case.keys.iter().map(|key| key.text.len()).sum();
    let size = case.body.len() + case.url.len() + headers + secrets + keys;
    let most = PEAK_BYTES + PEAK_PER_BYTE * size + PEAK_PER_EVENT * events;
    assert!(peak <= most, "{peak} bytes for a request of {size} with {events} events");
    outcome
}

fn bounded(case: &Case, admitted: &Admitted) {
    match admitted {
        Admitted::Challenge(reply) => small(case, reply),
        Admitted::Events { events, .. } => {
            assert!((1..=EVENTS_MAX).contains(&events.len()), "{} events", events.len());
            events.iter().for_each(|event| readable(case, event));
            let parts: usize = events.iter().map(|event| length(event.part.as_ref())).sum();
            let most = 2 * case.body.len() + case.url.len() + 1_024 * events.len();
            assert!(parts <= most, "{parts} bytes of parts");
        }
    }
}

fn length(part: Option<&Part>) -> usize {
    match part {
        None => 0,
        Some(Part::Slice(range)) => range.len(),
        Some(Part::Bytes(bytes)) => bytes.len(),
    }
}

fn readable(case: &Case, event: &Event) {
    let plain = |text: &str| !text.chars().any(char::is_control);
    let Event { key, kind, entity, part, .. } = event;
    assert!((1..=512).contains(&key.len()) && plain(key), "key {key:?}");
    assert!(kind.chars().count() <= 128 && plain(kind), "kind {kind:?}");
    let entity = entity.as_deref();
    let lane = |text: &str| (1..=256).contains(&text.len()) && !text.contains('\0');
    assert!(entity.is_none_or(lane), "entity {entity:?}");
    if let Some(Part::Slice(range)) = part {
        assert!(case.body.get(range.clone()).is_some(), "part {range:?}");
    }
}

/// Holds of an answer: it is small, no header can be slipped into it, and no secret is in it.
pub fn small(case: &Case, reply: &Reply) {
    assert!(reply.body.len() <= 1_024, "an answer of {} bytes", reply.body.len());
    let plain = |text: &str| !text.contains(['\r', '\n', '\0']);
    assert!(reply.headers.iter().all(|(_, value)| plain(value)), "a header breaks its line");
    for secret in case.secrets.iter().map(|secret| secret.expose().as_bytes()) {
        let told = reply.body.windows(secret.len()).any(|window| window == secret);
        let asked = [&case.body[..], case.url.as_bytes()];
        let known = asked.iter().any(|text| text.windows(secret.len()).any(|it| it == secret));
        assert!(!told || known, "an answer tells the secret");
    }
}

/// Shows the request when what was held of it does not hold.
struct Told<'t>(&'t Sender, &'t Case);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Case { method, url, headers, body, .. } = self.1;
            let lossy =
                |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(400)]).into_owned();
            eprintln!("{}: {method} {}", self.0.provider.name(), lossy(url.as_bytes()));
            for (name, value) in headers.iter().take(20) {
                eprintln!("{name}: {}", lossy(value));
            }
            eprintln!("{} bytes of body: {}", body.len(), lossy(body));
        }
    }
}

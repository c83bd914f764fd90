//! What a proof costs: each provider beside the bare HMAC-SHA256 over the same bytes, turn by turn
//! in one run, so that a busy machine disturbs both alike. Medians, and their ratio. Ends with an
//! error if a sender of HMAC-SHA256 takes more than 1.3 times the bare primitive at 10 KB or above,
//! or if reading a GitHub event takes longer than proving it twice.
//!
//! `cargo bench -p providers --bench verify`, with a name to see only that provider.

#[path = "../tests/catalogue/case.rs"]
#[expect(dead_code, reason = "the battery uses all of it")]
mod case;
#[path = "../tests/catalogue/file.rs"]
#[expect(dead_code, reason = "the battery uses all of it")]
mod file;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use providers::{ALL, Draft, Provider, Request, Secret, Window, admit_unsigned, find};
use sha2::Sha256;

const NOW_S: i64 = 1_767_225_600;
const WINDOW: Window = Window { now_s: NOW_S, tolerance_s: 300 };
const SIZES: [usize; 3] = [1_000, 10_000, 1_000_000];
/// The most that the way to a sender's HMAC may add to it.
const RATIO_MAX: f64 = 1.3;

struct Sample {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    secret: Secret,
}

impl Sample {
    fn is_proved(&self, provider: &dyn Provider) -> bool {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let request =
            Request { method: "POST", url: file::URL, headers: &headers, body: &self.body };
        provider.verify(black_box(&request), &self.secret, WINDOW).is_ok()
    }

    /// A request signed as the sender would, its body filled up to a size.
    fn of(provider: &dyn Provider, size: usize) -> Option<Self> {
        let file = file::load(provider);
        let first = || file.vector.iter().find(|vector| vector.expect == "valid");
        let text = file.trial.secret.clone().or_else(|| first()?.secrets.first().cloned())?;
        let secret = Secret::new(&text)?;
        let draft =
            |body| Draft { kind: &file.trial.kind, key: "1", body, now_s: NOW_S, url: file::URL };
        let own = match file.trial.own_body.as_str() {
            "" => provider.sign(&draft(None), &secret)?.body,
            own => own.as_bytes().to_vec(),
        };
        let signed = provider.sign(&draft(Some(&filled(&own, size))), &secret)?;
        let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
        let headers = signed.headers.into_iter().map(lower).collect();
        let sample = Self { headers, body: signed.body, secret };
        sample.is_proved(provider).then_some(sample)
    }
}

/// A body with a member or a field more, of objects as senders have them.
fn filled(body: &[u8], size: usize) -> Vec<u8> {
    let piece = r#"{"id":1296269,"node_id":"MDEwOlJlcG9zaXRvcnkx","private":false,"size":1.50,"url":
        "https://api.example.com/repos/rider/letters","owner":{"login":"rider","a":[1,2]}}"#;
    let count = size.saturating_sub(body.len()) / (piece.len() + 1) + 1;
    let (at, fill) = match body.iter().position(|byte| *byte == b'{') {
        Some(at) => (at + 1, format!(r#""filling":[{}],"#, vec![piece; count].join(","))),
        None => (body.len(), format!("&filling={}", "x".repeat(size.saturating_sub(body.len())))),
    };
    [&body[..at], fill.as_bytes(), &body[at..]].concat()
}

fn bare(body: &[u8]) -> bool {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(b"a secret of some length, as they are").expect("any");
    mac.update(black_box(body));
    mac.verify_slice(&[0; 32]).is_err()
}

/// Medians of two things done in turns.
fn medians(size: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> (Duration, Duration) {
    let (rounds, repeats) = (41, (100_000 / size).max(1));
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..repeats).for_each(|_| work());
        start.elapsed() / u32::try_from(repeats).unwrap_or(1)
    };
    let (mut ones, mut others): (Vec<_>, Vec<_>) =
        (0..rounds).map(|_| (time(&mut one), time(&mut other))).unzip();
    ones.sort_unstable();
    others.sort_unstable();
    (ones[rounds / 2], others[rounds / 2])
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The first valid vector of a sender whose signature cannot be made here, as it is.
fn published(provider: &dyn Provider) {
    let vectors = file::load(provider).vector.into_iter();
    let mut cases = vectors.filter(|it| it.expect == "valid").map(|it| case::Case::of(&it));
    let Some(case) = cases.find(|case| case.coverage(provider).is_some()) else { return };
    let size = case.body.len();
    let (ours, base) = medians(
        size.max(1_000),
        || assert!(case.coverage(provider).is_some()),
        || assert!(bare(&case.body)),
    );
    let (name, ratio) = (provider.name(), us(ours) / us(base));
    println!("{name:24} {size:9} {:11.2} {:11.2} {ratio:6.2} -", us(base), us(ours));
}

/// Whether this sender's signature is one HMAC-SHA256 over all of the body.
fn is_hmac_sha256(provider: &dyn Provider) -> bool {
    let known = ["HMAC-SHA256", "Standard Webhooks", "Svix", "`v1` HMAC"];
    let proof = provider.facts().proof;
    known.iter().any(|name| proof.starts_with(name)) && !file::load(provider).proof.in_body
}

fn proofs(only: Option<&str>) -> Vec<String> {
    let mut missed = Vec::new();
    println!(
        "{:24} {:>9} {:>11} {:>11} {:>6}",
        "provider", "bytes", "bare us", "proof us", "ratio"
    );
    for provider in ALL.iter().filter(|it| only.is_none_or(|only| it.name() == only)) {
        if Sample::of(*provider, SIZES[0]).is_none() {
            published(*provider);
        }
        for size in SIZES {
            let Some(sample) = Sample::of(*provider, size) else { continue };
            let (ours, base) = medians(
                size,
                || assert!(sample.is_proved(*provider)),
                || assert!(bare(&sample.body)),
            );
            let (name, ratio) = (provider.name(), us(ours) / us(base));
            let judged = size >= 10_000 && is_hmac_sha256(*provider);
            let mark = if judged { "" } else { " -" };
            println!("{name:24} {size:9} {:11.2} {:11.2} {ratio:6.2}{mark}", us(base), us(ours));
            if judged && ratio > RATIO_MAX {
                missed.push(format!("{name} at {size} bytes: {ratio:.2} times the bare HMAC"));
            }
        }
    }
    missed
}

fn reading() -> Option<String> {
    let provider = find("github")?;
    let sample = Sample::of(provider, 10_000)?;
    let headers: Vec<(&str, &[u8])> =
        sample.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "POST", url: file::URL, headers: &headers, body: &sample.body };
    let (reading, proof) = medians(
        10_000,
        || assert!(admit_unsigned(provider, black_box(&request)).is_ok()),
        || assert!(sample.is_proved(provider)),
    );
    let ratio = us(reading) / us(proof);
    println!("reading a GitHub event of 10 KB: {:.2} us, {ratio:.2} times its proof", us(reading));
    (ratio > 2.0).then(|| format!("reading a GitHub event takes {ratio:.2} times its proof"))
}

fn main() -> ExitCode {
    let only = std::env::args().nth(1).filter(|text| !text.starts_with("--"));
    let mut missed = proofs(only.as_deref());
    missed.extend(reading());
    missed.iter().for_each(|missed| println!("too slow: {missed}"));
    ExitCode::from(u8::from(!missed.is_empty()))
}

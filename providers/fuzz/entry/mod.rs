//! The entry points of fuzzing: plain functions over bytes, which hold or panic. The targets of
//! cargo-fuzz call them with what libFuzzer finds, `tests/catalogue/fuzzed.rs` with what a seeded
//! generator makes. Most requests are genuine ones bent a little; noise alone never gets far.

mod bend;
mod handshakes;
mod held;
mod readers;
mod senders;

pub use handshakes::handshake;
pub use readers::{form, json};
pub use senders::{SENDERS, Sender};

use arbitrary::{Result, Unstructured};
use providers::{ALL, Secret, TOLERANCE_S};

use crate::case::Case;
use bend::{bend, text};
use held::{EVENTS_MAX, hold, hold_of_noise};

/// Bends of one request: more of them leave nothing of it.
const BENDS_MAX: usize = 6;

/// A request to a provider that the input chooses: a genuine one, bent, or one made of noise.
pub fn admit(data: &[u8]) {
    let mut input = Unstructured::new(data);
    // Input that ends early is no request, and nothing is to be held of it.
    let _ = match input.ratio(7_u8, 8_u8) {
        Ok(true) => bent(&mut input),
        _ => noise(&mut input),
    };
}

fn bent(input: &mut Unstructured<'_>) -> Result<()> {
    let sender = input.choose(&SENDERS)?;
    let bases = if input.ratio(3_u8, 4_u8)? { &sender.cases } else { &sender.events };
    let mut case = input.choose(bases)?.clone();
    for _ in 0..input.int_in_range(1..=BENDS_MAX)? {
        bend(input, sender, &mut case)?;
        if input.is_empty() {
            break;
        }
    }
    hold(sender, &case);
    Ok(())
}

/// Every array of a sender's batches, with its first item more often than any sender has.
pub fn overfull(sender: &Sender) {
    for case in sender.events.iter().filter(|case| case.body.len() < 1_000) {
        for at in (0..case.body.len()).filter(|at| case.body[*at] == b'[') {
            let mut case = case.clone();
            bend::fill(&mut case.body, at, EVENTS_MAX + 1);
            hold(sender, &case);
        }
    }
}

fn noise(input: &mut Unstructured<'_>) -> Result<()> {
    let provider = *input.choose(ALL)?;
    let method = *input.choose(&["POST", "GET", "HEAD", "OPTIONS", "PUT"])?;
    let url = format!("https://hooks.example.com/{}", text(input)?);
    let secret = Secret::new(&text(input)?).or_else(|| Secret::new("secret"));
    let sender = Sender::of(provider.name());
    let mut headers = Vec::new();
    for _ in 0..input.int_in_range(0..=8)? {
        let name = input.choose(&sender.header_names)?.clone();
        let length = input.int_in_range(0..=100)?;
        headers.push((name, input.bytes(length.min(input.len()))?.to_vec()));
    }
    let case = Case {
        method: method.to_owned(),
        url,
        headers,
        secrets: secret.into_iter().collect(),
        now_s: 1_767_225_600,
        tolerance_s: TOLERANCE_S,
        keys: Vec::new(),
        by_url: false,
        proof: None,
        body: input.bytes(input.len())?.to_vec(),
    };
    hold_of_noise(sender, &case);
    Ok(())
}

/// One header of a genuine request, its value made of the input.
pub fn header(data: &[u8]) {
    let _ = with_header(&mut Unstructured::new(data));
}

fn with_header(input: &mut Unstructured<'_>) -> Result<()> {
    let sender = input.choose(&SENDERS)?;
    let mut case = input.choose(&sender.cases)?.clone();
    if case.headers.is_empty() {
        return Ok(());
    }
    let index = input.choose_index(case.headers.len())?;
    let kept = input.choose_index(case.headers[index].1.len() + 1)?;
    let made = bend::header_value(input, &case.headers[index].1)?;
    let value = &mut case.headers[index].1;
    value.truncate(kept);
    value.extend(made);
    hold(sender, &case);
    Ok(())
}

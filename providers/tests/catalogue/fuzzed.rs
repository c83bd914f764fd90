//! The targets of `fuzz/` on stable: the same functions, driven from a fixed seed for a few
//! seconds. `PROVIDERS_FUZZ_CASES=200000` looks longer, `PROVIDERS_FUZZ_SEED=2` elsewhere. What
//! fails is shrunk and printed in hexadecimal; `PROVIDERS_FUZZ_INPUT` takes that again. What aborts
//! the process, such as a full stack, can print nothing: it stands in `target/tmp/fuzz-TARGET.hex`.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::entry;
use crate::file::load;

/// Inputs of a target, unless the environment says otherwise: a few seconds in a debug build.
const CASES: u32 = 5_000;

fn number(name: &str, usual: u32) -> u32 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number?")))
}

fn drive(name: &str, target: fn(&[u8]), inputs: impl Strategy<Value = Vec<u8>>) {
    if let Ok(text) = std::env::var("PROVIDERS_FUZZ_INPUT") {
        return target(&hex::decode(text).expect("PROVIDERS_FUZZ_INPUT is hexadecimal"));
    }
    let cases = number("PROVIDERS_FUZZ_CASES", CASES);
    let seed = [number("PROVIDERS_FUZZ_SEED", 1).to_be_bytes(); 8].concat();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let last = format!("{}/fuzz-{name}.hex", env!("CARGO_TARGET_TMPDIR"));
    let tried = TestRunner::new_with_rng(config, rng).run(&inputs, |input| {
        std::fs::write(&last, hex::encode(&input)).unwrap();
        target(&input);
        Ok::<(), TestCaseError>(())
    });
    if let Err(TestError::Fail(reason, input)) = tried {
        panic!("{reason}\nagain: PROVIDERS_FUZZ_INPUT={} with this test", hex::encode(input));
    }
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..160)
}

#[test]
fn bent_requests_are_admitted_only_under_a_proof_and_read_within_bounds() {
    drive("admit", entry::admit, noise());
}

#[test]
fn bent_headers_are_admitted_only_under_a_proof() {
    drive("header", entry::header, noise());
}

#[test]
fn no_handshake_signs_for_a_stranger_whatever_is_asked() {
    drive("handshake", entry::handshake, noise());
}

/// Bodies of the vectors, each with a few bytes replaced or doubled.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let files = providers::ALL.iter().map(|provider| load(*provider));
    let bodies: Vec<Vec<u8>> =
        files.flat_map(|file| file.event.into_iter().map(|event| event.body.into())).collect();
    let piece = vec(proptest::sample::select(&b"{}[]\"\\,:&=%+09eE.-tnu/~ a\0\xff"[..]), 0..6);
    let bend = (any::<proptest::sample::Index>(), 0_usize..12, piece);
    (proptest::sample::select(bodies), vec(bend, 0..5)).prop_map(|(mut body, bends)| {
        for (at, gone, piece) in bends {
            let from = at.index(body.len() + 1);
            let to = (from + gone).min(body.len());
            body.splice(from..to, piece);
        }
        body
    })
}

/// Documents of a few names, which are therefore often named twice.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    let leaves = ["1", "1.50", "-0", "1E5", "\"x\"", "\"\\u0041\"", "null", "true", "{}", "[]"];
    let leaf = proptest::sample::select(leaves.map(str::to_owned).to_vec());
    let name = proptest::sample::select(vec!["a", "b", "0", "event", "id", "a/b", "\\u0061"]);
    leaf.prop_recursive(4, 24, 5, move |value| {
        let member = (name.clone(), value.clone());
        let member = member.prop_map(|(name, value)| format!("\"{name}\" : {value}"));
        proptest::prop_oneof![
            vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
            vec(value, 0..5).prop_map(|items| format!("[{}]", items.join(" , "))),
        ]
    })
    .prop_map(String::into_bytes)
}

/// Short texts of the letters that matter to a reader.
fn letters() -> impl Strategy<Value = Vec<u8>> {
    let letters = &b"{}[]\"\\,:&=%+0129eE.-truefalsn/~ a\xc3\xa9"[..];
    vec(proptest::sample::select(letters), 0..24)
}

#[test]
fn json_is_read_as_another_reader_reads_it() {
    drive("json", entry::json, proptest::prop_oneof![documents(), bodies(), letters(), noise()]);
}

#[test]
fn forms_are_read_as_another_reader_reads_them() {
    drive("form", entry::form, proptest::prop_oneof![bodies(), letters(), noise()]);
}

#[test]
fn a_batch_of_more_events_than_any_senders_is_refused() {
    for sender in entry::SENDERS.iter().filter(|sender| sender.splits) {
        entry::overfull(sender);
    }
}

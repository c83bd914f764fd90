//! What the providers read: every `[[event]]` case, exactly. Nothing is signed here, as these are
//! the readings of sources without a proof; signatures are the business of `proofs.rs`.

use std::collections::BTreeMap;

use providers::{
    ALL, Admitted, Part, Position, Provider, Rejection, Request, admit_unsigned,
    admit_unsigned_with, json,
};

use crate::case::lower;
use crate::file::{Event, Expected, URL, load};

fn read(
    provider: &dyn Provider,
    case: &Event,
    split: bool,
) -> Result<Vec<providers::Event>, Rejection> {
    let headers = lower(&case.headers);
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    let url = case.url.as_deref().unwrap_or(URL);
    let (method, headers, body) = (&*case.method, &*headers, case.body.as_bytes());
    let request = Request { method, url, headers, body };
    let admitted = match split {
        true => admit_unsigned(provider, &request),
        false => admit_unsigned_with(provider, &request, false),
    };
    match admitted? {
        Admitted::Events { events, .. } => Ok(events),
        Admitted::Challenge(_) => Ok(Vec::new()),
    }
}

fn is_same(name: &str, case: &Event, event: &providers::Event, expected: &Expected) {
    match expected.key.as_str() {
        "digest" => assert!(event.key.starts_with("sha256:") && event.key.len() == 71, "{name}"),
        key => assert_eq!(event.key, key, "{name}: key"),
    }
    assert_eq!(event.kind, expected.kind, "{name}: kind");
    assert_eq!(event.entity, expected.entity, "{name}: entity");
    let Expected { occurred_at_us, sequence, .. } = *expected;
    assert_eq!(event.position, Position { occurred_at_us, sequence }, "{name}: position");
    if let Some(expected) = &expected.part {
        let part = match event.part.as_ref().unwrap_or_else(|| panic!("{name}: it is no part")) {
            Part::Slice(range) => &case.body.as_bytes()[range.clone()],
            Part::Bytes(bytes) => bytes,
        };
        assert_eq!(String::from_utf8_lossy(part), *expected, "{name}: part");
    }
}

#[test]
fn every_event_is_read_as_its_case_says() {
    for provider in ALL {
        let cases = load(*provider).event;
        let who = provider.name();
        assert!(!cases.is_empty(), "vectors/{who}.toml: add an [[event]] that shows what is read");
        for case in &cases {
            let name = format!("{who}: {}", case.name);
            let is_received = match &*case.method {
                "GET" => provider.delivers_by_get().is_some(),
                method => provider.methods().contains(&method),
            };
            assert!(is_received, "{name}: by {} nothing is received", case.method);
            let outcome = read(*provider, case, true);
            if case.unreadable {
                assert!(matches!(outcome, Err(Rejection::Unreadable(_))), "{name}: {outcome:?}");
                continue;
            }
            let events = outcome.unwrap_or_else(|fault| panic!("{name}: {fault}"));
            if case.nothing {
                assert!(events.is_empty(), "{name}: {events:?}");
                continue;
            }
            let related = case.retry_of.is_some() || case.distinct_from.is_some();
            assert!(related || !case.expect.is_empty(), "{name}: what is expected of it?");
            assert!(!events.is_empty(), "{name}: nothing was read");
            if !case.expect.is_empty() {
                assert_eq!(events.len(), case.expect.len(), "{name}: {events:?}");
                for (event, expected) in events.iter().zip(&case.expect) {
                    is_same(&name, case, event, expected);
                }
            }
            let mut keys: Vec<&String> = events.iter().map(|event| &event.key).collect();
            keys.sort();
            assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{name}: one key twice");
        }
    }
}

/// The keys of a case, each with what its content is compared by.
fn contents(provider: &dyn Provider, case: &Event) -> BTreeMap<String, Vec<u8>> {
    let events = read(provider, case, true).unwrap().into_iter();
    events.map(|event| (event.key.clone(), stored(case, &event))).collect()
}

#[test]
fn deliveries_share_their_keys_exactly_if_they_are_of_the_same_events() {
    let mut wrong = Vec::new();
    for provider in ALL {
        let cases = load(*provider).event;
        let named = |name: &String| {
            let found = cases.iter().find(|case| case.name == *name);
            let found = found.unwrap_or_else(|| panic!("{}: no event {name:?}", provider.name()));
            contents(*provider, found)
        };
        for case in &cases {
            let name = format!("{}: {}", provider.name(), case.name);
            if let Some(first) = &case.retry_of {
                let (own, first) = (contents(*provider, case), named(first));
                assert!(own.keys().eq(first.keys()), "{name}: the same delivery");
                if (own == first) == case.conflicts {
                    wrong.push(name.clone());
                }
            }
            if let Some(other) = &case.distinct_from {
                let other = named(other);
                let own = contents(*provider, case);
                assert!(own.keys().all(|key| !other.contains_key(key)), "{name}: not another");
            }
        }
    }
    assert!(wrong.is_empty(), "volatile fields differ, or conflicts = true is due: {wrong:#?}");
}

#[test]
fn a_batch_that_is_not_split_is_one_event() {
    for provider in ALL {
        for case in load(*provider).event {
            if case.unreadable || case.nothing {
                continue;
            }
            let name = format!("{}: {}", provider.name(), case.name);
            let split = read(*provider, &case, true).unwrap();
            let whole = read(*provider, &case, false).unwrap();
            let [whole] = &whole[..] else { panic!("{name}: {whole:?}") };
            let is_elsewhere = case.body.is_empty() && whole.part == split[0].part;
            assert!(whole.part.is_none() || is_elsewhere, "{name}: {whole:?}");
            if let [only] = &split[..] {
                assert_eq!((&whole.key, &whole.kind), (&only.key, &only.kind), "{name}");
            } else {
                assert!(split.iter().all(|event| event.key != whole.key), "{name}");
            }
        }
    }
}

/// What would be stored of an event, in the form that two deliveries under one key are compared in.
fn stored(case: &Event, event: &providers::Event) -> Vec<u8> {
    let body = match &event.part {
        Some(Part::Slice(range)) => &case.body.as_bytes()[range.clone()],
        Some(Part::Bytes(bytes)) => bytes,
        None => case.body.as_bytes(),
    };
    let headers = lower(&case.headers);
    let content_type = headers.iter().find(|(name, _)| name == "content-type");
    let content_type = content_type.map(|(_, value)| value.as_slice());
    let canonical = json::canonical(&json::view(content_type, body), event.volatile);
    canonical.unwrap_or_else(|| body.to_vec())
}

//! One battery over every vector of every provider: genuine requests are admitted, near misses are
//! refused, and from each genuine one every neighbour is made and must be refused too. A provider
//! without vectors, or without a genuine one, fails here.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use providers::{
    ALL, Admitted, Coverage, Provider, Rejection, Request, Secret, Window, admit, find,
};
use serde::Deserialize;

const TOLERANCE_S: i64 = 300;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    vector: Vec<Vector>,
    #[serde(default)]
    challenge: Vec<Challenge>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    origin: String,
    source: String,
    method: String,
    headers: Vec<(String, String)>,
    body: String,
    secrets: Vec<String>,
    now_unix: i64,
    expect: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Challenge {
    name: String,
    method: String,
    headers: Vec<(String, String)>,
    body: String,
    secrets: Vec<String>,
    now_unix: i64,
    status: u16,
    reply: String,
    #[allow(dead_code, reason = "for the reader of the file")]
    why: String,
}

/// One request under test, easy to bend.
#[derive(Clone)]
struct Case {
    method: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    secrets: Vec<Secret>,
    now_s: i64,
}

impl Case {
    fn new(
        method: &str,
        headers: &[(String, String)],
        body: &str,
        secrets: &[String],
        now_s: i64,
    ) -> Self {
        let lower = |(name, value): &(String, String)| {
            (name.to_ascii_lowercase(), value.clone().into_bytes())
        };
        Self {
            method: method.to_owned(),
            headers: headers.iter().map(lower).collect(),
            body: body.into(),
            secrets: secrets.iter().filter_map(|text| Secret::new(text)).collect(),
            now_s,
        }
    }

    fn of(vector: &Vector) -> Self {
        let Vector { method, headers, body, secrets, now_unix, .. } = vector;
        Self::new(method, headers, body, secrets, *now_unix)
    }

    fn run<T>(&self, look: impl FnOnce(&Request<'_>, Window) -> T) -> T {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let request = Request {
            method: &self.method,
            url: "https://hooks.example.com/hooks/source",
            headers: &headers,
            body: &self.body,
        };
        look(&request, Window { now_s: self.now_s, tolerance_s: TOLERANCE_S })
    }

    fn admit(&self, provider: &dyn Provider) -> Result<Admitted, Rejection> {
        self.run(|request, window| admit(provider, request, &self.secrets, window))
    }

    /// Whether the proof holds. Many published vectors carry no delivery id, so a proved request
    /// may still be unreadable.
    fn proved(&self, provider: &dyn Provider) -> bool {
        matches!(self.admit(provider), Ok(_) | Err(Rejection::Unreadable(_)))
    }

    fn coverage(&self, provider: &dyn Provider) -> Option<Coverage> {
        let verify = |secret| {
            self.run(|request, window| {
                provider.verify(request, secret, window).ok().map(|proved| proved.coverage())
            })
        };
        self.secrets.iter().find_map(verify)
    }

    fn with_header(&self, index: usize, value: &[u8]) -> Self {
        let mut bent = self.clone();
        bent.headers[index].1 = value.to_vec();
        bent
    }
}

fn battery(mut check: impl FnMut(&'static dyn Provider, &str, &Vector, &Case)) {
    for provider in ALL {
        let file = load(*provider);
        for vector in &file.vector {
            check(
                *provider,
                &format!("{}: {}", provider.name(), vector.name),
                vector,
                &Case::of(vector),
            );
        }
    }
}

fn valid(mut check: impl FnMut(&'static dyn Provider, &str, &Case)) {
    battery(|provider, name, vector, case| {
        if vector.expect == "valid" {
            check(provider, name, case);
        }
    });
}

fn load(provider: &dyn Provider) -> File {
    let path = format!("{}/vectors/{}.toml", env!("CARGO_MANIFEST_DIR"), provider.name());
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("vectors/{}.toml is missing: add it", provider.name()));
    toml::from_str(&text).unwrap_or_else(|fault| panic!("vectors/{}: {fault}", provider.name()))
}

/// Headers that carry a part of the proof.
fn is_proof(name: &str) -> bool {
    name.contains("signature")
        || name.contains("hmac")
        || name.contains("timestamp")
        || matches!(name, "x-gitlab-token" | "webhook-id" | "svix-id")
}

/// Another secret of the same form. Not zeros at the end: HMAC fills a short key with them.
fn other_secret(secret: &Secret) -> Secret {
    let text = secret.expose();
    let other = match text {
        _ if text.starts_with("whpk_") => {
            "whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()
        }
        _ if text.starts_with("whsec_") => {
            "whsec_YW5vdGhlci1zZWNyZXQtYW5vdGhlci1zZWNyZXQ=".to_owned()
        }
        _ => format!("{text}Zm9v"),
    };
    Secret::new(&other).unwrap()
}

/// Another character of the same class, so that a bent signature is still well-formed.
fn bent(byte: u8) -> u8 {
    match byte {
        b'0'..=b'8' | b'a'..=b'e' | b'g'..=b'y' | b'A'..=b'E' | b'G'..=b'Y' => byte + 1,
        b'9' => b'0',
        b'f' => b'a',
        b'F' => b'A',
        _ => b'x',
    }
}

#[test]
fn every_vector_has_the_outcome_it_names() {
    battery(|provider, name, vector, case| {
        let expected = match vector.expect.as_str() {
            "valid" => true,
            "invalid" => false,
            other => panic!("{name}: expect = {other:?}"),
        };
        assert!(["real", "constructed", "derived-negative"].contains(&vector.origin.as_str()));
        assert!(!vector.source.is_empty(), "{name}: where does it come from?");
        let outcome = case.admit(provider);
        assert_eq!(case.proved(provider), expected, "{name}: {outcome:?} ({})", vector.why);
    });
}

#[test]
fn every_provider_has_a_genuine_vector_and_its_name_is_found() {
    for provider in ALL {
        let genuine = load(*provider).vector.iter().filter(|one| one.expect == "valid").count();
        assert!(genuine > 0, "vectors/{}.toml has no valid vector", provider.name());
        assert!(find(provider.name()).is_some_and(|found| found.name() == provider.name()));
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors")).unwrap();
    assert_eq!(files.count(), ALL.len(), "a file of vectors without a provider in ALL");
}

#[test]
fn a_bent_body_is_refused_exactly_where_the_proof_covers_it() {
    valid(|provider, name, case| {
        let covered = case.coverage(provider) == Some(Coverage::Body);
        let stride = case.body.len() / 400 + 1;
        for at in (0..case.body.len()).step_by(stride) {
            let mut other = case.clone();
            other.body[at] ^= 1;
            assert_eq!(other.proved(provider), !covered, "{name}: body byte {at}");
        }
        for extra in [&b" "[..], b"\n", b"\0"] {
            let mut other = case.clone();
            other.body.extend_from_slice(extra);
            assert_eq!(other.proved(provider), !covered, "{name}: body longer by {extra:?}");
        }
        let mut other = case.clone();
        if other.body.pop().is_some() {
            assert_eq!(other.proved(provider), !covered, "{name}: body cut");
        }
    });
}

#[test]
fn a_proof_header_that_is_gone_emptied_or_doubled_is_refused() {
    valid(|provider, name, case| {
        let proofs = case.headers.iter().filter(|(header, _)| is_proof(header)).count();
        assert!(proofs > 0, "{name}: no header of the proof is known to this test");
        for (index, (header, value)) in case.headers.iter().enumerate() {
            if !is_proof(header) {
                continue;
            }
            let mut gone = case.clone();
            gone.headers.remove(index);
            assert!(!gone.proved(provider), "{name}: without {header}");
            assert!(!case.with_header(index, b"").proved(provider), "{name}: {header} empty");
            assert!(!case.with_header(index, b" ").proved(provider), "{name}: {header} blank");
            let mut doubled = case.clone();
            doubled.headers.push((header.clone(), value.clone()));
            assert!(!doubled.proved(provider), "{name}: {header} twice");
            doubled.headers.last_mut().unwrap().1 = b"x".to_vec();
            assert!(!doubled.proved(provider), "{name}: {header} and another");
            doubled.headers.swap(index, case.headers.len());
            assert!(!doubled.proved(provider), "{name}: another and {header}");
        }
    });
}

#[test]
fn a_proof_header_bent_in_any_character_is_refused() {
    valid(|provider, name, case| {
        let mut bends = 0;
        for (index, (header, value)) in case.headers.iter().enumerate() {
            if !is_proof(header) {
                continue;
            }
            for entry in deciding_entries(provider, case, index) {
                for at in entry.clone() {
                    for other in [bent(value[at]), b' ', 0xff] {
                        let mut changed = value.clone();
                        changed[at] = other;
                        let case = case.with_header(index, &changed);
                        assert!(!case.proved(provider), "{name}: {header} at {at}: {other}");
                        bends += 1;
                    }
                    let mut cut = value.clone();
                    cut.drain(at..entry.end);
                    let case = case.with_header(index, &cut);
                    assert!(!case.proved(provider), "{name}: {header} cut at {at}");
                }
            }
        }
        assert!(bends > 30, "{name}: only {bends} characters decide");
    });
}

/// Ranges of a header's entries without which the request is refused. Other entries are there
/// for another secret or scheme, and may change as they like.
fn deciding_entries(
    provider: &dyn Provider,
    case: &Case,
    header: usize,
) -> Vec<std::ops::Range<usize>> {
    let value = &case.headers[header].1;
    let mut entries = Vec::new();
    let mut start = 0;
    // Stripe lists after commas, Standard Webhooks after spaces (its own comma is no separator).
    let separator = if case.headers[header].0 == "stripe-signature" { b',' } else { b' ' };
    for entry in value.split(|byte| *byte == separator) {
        let range = start..start + entry.len();
        start = range.end + 1;
        let mut without = value.clone();
        without.drain(range.clone());
        if !case.with_header(header, &without).proved(provider) {
            entries.push(range);
        }
    }
    entries
}

#[test]
fn only_the_right_secret_proves_and_rotation_works_in_either_order() {
    valid(|provider, name, case| {
        for (index, right) in case.secrets.iter().enumerate() {
            let with = |secrets: &[&Secret]| {
                let secrets = secrets.iter().copied().cloned().collect();
                Case { secrets, ..case.clone() }
            };
            if !with(&[right]).proved(provider) {
                continue;
            }
            let other = other_secret(right);
            assert!(!with(&[&other]).proved(provider), "{name}: other secret");
            assert_eq!(
                with(&[]).admit(provider).map(|_| ()),
                Err(Rejection::SecretUnusable("none is configured")),
                "{name}: no secret"
            );
            for (secrets, place) in [([&other, right], 1), ([right, &other], 0)] {
                let case = with(&secrets);
                assert!(case.proved(provider), "{name}: secret {index} in rotation");
                if let Ok(Admitted::Events { secret, .. }) = case.admit(provider) {
                    assert_eq!(secret, place, "{name}: which secret matched");
                }
            }
        }
    });
}

#[test]
fn a_signed_time_is_judged_on_both_sides_and_only_after_the_signature() {
    let mut bound = 0;
    valid(|provider, name, case| {
        let Some(signed_s) = signed_time(case) else {
            let later = Case { now_s: case.now_s + 1_000_000_000, ..case.clone() };
            assert!(later.proved(provider), "{name}: a proof without time depends on the time");
            return;
        };
        bound += 1;
        for (skew_s, good) in [(-300, true), (300, true), (-301, false), (301, false)] {
            let case = Case { now_s: signed_s - skew_s, ..case.clone() };
            assert_eq!(case.proved(provider), good, "{name}: {skew_s} s");
            if !good {
                let expected = Rejection::TimestampOutside { skew_s };
                assert_eq!(case.admit(provider).map(|_| ()), Err(expected), "{name}");
                let mut forged = case.clone();
                forged.body.push(b' ');
                let expected = Rejection::SignatureMismatch;
                assert_eq!(forged.admit(provider).map(|_| ()), Err(expected), "{name}: forged");
            }
        }
    });
    assert!(bound > 10, "only {bound} vectors carry a time");
}

fn signed_time(case: &Case) -> Option<i64> {
    case.headers.iter().find_map(|(name, value)| {
        let text = std::str::from_utf8(value).ok()?;
        match name.as_str() {
            "stripe-signature" => {
                text.split(',').find_map(|entry| entry.strip_prefix("t="))?.parse().ok()
            }
            name if name.contains("timestamp") => text.parse().ok(),
            _ => None,
        }
    })
}

#[test]
fn challenges_are_answered_once_proved_and_never_recorded() {
    let mut answered = 0;
    for provider in ALL {
        for challenge in load(*provider).challenge {
            let Challenge { name, method, headers, body, secrets, now_unix, .. } = &challenge;
            let case = Case::new(method, headers, body, secrets, *now_unix);
            match case.admit(*provider) {
                Ok(Admitted::Challenge(reply)) => {
                    assert_eq!(reply.status, challenge.status, "{name}");
                    assert_eq!(reply.body, challenge.reply.as_bytes(), "{name}");
                }
                other => panic!("{}: {name}: {other:?}", provider.name()),
            }
            let unsigned = Case {
                headers: case.headers.iter().filter(|(name, _)| !is_proof(name)).cloned().collect(),
                ..case
            };
            assert!(unsigned.admit(*provider).is_err(), "{name}: answered without a proof");
            answered += 1;
        }
    }
    assert!(answered > 0);
}

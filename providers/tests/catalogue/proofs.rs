//! Every vector has the outcome it names; secrets rotate, times are bounded, keys are fetched, and
//! handshakes under a proof are answered.

use providers::{ALL, Admitted, Coverage, KeyWanted, Provider, Rejection, Secret, find};

use crate::case::Case;
use crate::file::{Challenge, File, Vector, load};

pub fn battery(mut check: impl FnMut(&'static dyn Provider, &str, &File, &Vector, &Case)) {
    for provider in ALL {
        let file = load(*provider);
        for vector in &file.vector {
            let name = format!("{}: {}", provider.name(), vector.name);
            check(*provider, &name, &file, vector, &Case::of(vector));
        }
    }
}

pub fn valid(mut check: impl FnMut(&'static dyn Provider, &str, &File, &Case)) {
    battery(|provider, name, file, vector, case| {
        if vector.expect == "valid" {
            check(provider, name, file, case);
        }
    });
}

#[test]
fn every_vector_has_the_outcome_it_names() {
    battery(|provider, name, _, vector, case| {
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

/// Senders of which a request with its signature is known that was not signed by us: without one,
/// we may have misread their documentation and agree with ourselves.
const PUBLISHED_MIN: usize = 33;

#[test]
fn every_provider_has_a_valid_vector_and_says_where_none_is_published() {
    let mut published = 0;
    for provider in ALL {
        let (name, file) = (provider.name(), load(*provider));
        let valid = || file.vector.iter().filter(|vector| vector.expect == "valid");
        assert!(valid().count() > 0, "vectors/{name}.toml has no valid [[vector]]");
        let real = valid().any(|vector| vector.origin == "real");
        assert_eq!(
            real,
            file.unpublished.is_none(),
            "vectors/{name}.toml: `unpublished = \"why\"` is due exactly where no valid vector is \
             of origin real"
        );
        published += usize::from(real);
        assert!(find(name).is_some_and(|found| found.name() == name));
    }
    assert!(published >= PUBLISHED_MIN, "only {published} providers have a published vector");
}

#[test]
fn every_file_of_vectors_is_of_a_provider() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ALL.iter().any(|provider| format!("{}.toml", provider.name()) == name);
        assert!(known, "vectors/{name}: there is no such provider in ALL");
    }
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

#[test]
fn only_the_right_secret_proves_and_rotation_works_in_either_order() {
    valid(|provider, name, _, case| {
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

/// The time that a proof carries, as told by the refusal at another time.
fn proved_time(provider: &dyn Provider, case: &Case, at_s: i64) -> Option<i64> {
    match (Case { now_s: at_s, ..case.clone() }).admit(provider) {
        Err(Rejection::TimestampOutside { skew_s }) => Some(at_s + skew_s),
        _ => None,
    }
}

#[test]
fn a_signed_time_is_judged_on_both_sides_and_only_after_the_signature() {
    valid(|provider, name, file, case| {
        let carries = |header: &String| case.headers.iter().any(|(name, _)| name == header);
        let timed = file.proof.timed.iter().any(|header| header == "*" || carries(header));
        let late = proved_time(provider, case, case.now_s + 1_000_000_000);
        let early = proved_time(provider, case, case.now_s - 1_000_000_000);
        assert_eq!(late.is_some(), timed, "{name}: is a time proved? vectors: proof.timed");
        assert_eq!(early.is_some(), timed, "{name}: is a time proved? vectors: proof.timed");
        let (Some(last_s), Some(first_s)) = (late, early) else { return };
        assert!(first_s <= last_s, "{name}: from {first_s} to {last_s}");
        let slack = file.proof.tolerance_s;
        let end = if file.proof.expires { 0 } else { slack };
        let covered = case.coverage(provider) == Some(Coverage::Body) && !file.proof.in_body;
        for (now_s, skew_s) in [
            (first_s - slack, None),
            (last_s + end, None),
            (first_s - slack - 1, Some(slack + 1)),
            (last_s + end + 1, Some(-end - 1)),
        ] {
            let case = Case { now_s, ..case.clone() };
            match skew_s {
                None => assert!(case.proved(provider), "{name}: at {now_s}"),
                Some(skew_s) => {
                    let expected = Rejection::TimestampOutside { skew_s };
                    assert_eq!(case.admit(provider).map(|_| ()), Err(expected), "{name}");
                    let mut forged = case.clone();
                    forged.body.push(b' ');
                    let outcome = forged.admit(provider).map(|_| ());
                    let expected = Rejection::SignatureMismatch;
                    assert!(!covered || outcome == Err(expected), "{name}: forged: {outcome:?}");
                }
            }
        }
    });
}

#[test]
fn a_remote_key_is_asked_for_and_a_wrong_one_proves_nothing() {
    valid(|provider, name, _, case| {
        if case.keys.is_empty() {
            return;
        }
        let without = Case { keys: Vec::new(), ..case.clone() };
        match without.admit(provider) {
            Err(Rejection::KeyWanted(KeyWanted::Document { url, hosts })) => {
                assert!(url.starts_with("https://") && !hosts.is_empty(), "{name}: {url}");
            }
            Err(Rejection::KeyWanted(KeyWanted::Listed { endpoint, id, .. })) => {
                assert!(endpoint.starts_with("https://") && !id.is_empty(), "{name}: {id}");
            }
            other => panic!("{name}: no key at hand, and yet: {other:?}"),
        }
        for text in ["", "{}", "[]", "no key", "-----BEGIN CERTIFICATE-----\nAAAA\n"] {
            let mut wrong = case.clone();
            wrong.keys.iter_mut().for_each(|key| key.text = text.to_owned());
            assert!(!wrong.proved(provider), "{name}: {text:?} as a key");
        }
    });
}

#[test]
fn challenges_are_answered_once_proved_and_never_recorded() {
    let mut answered = 0;
    for provider in ALL {
        let file = load(*provider);
        for challenge in &file.challenge {
            let Challenge { name, method, url, headers, body, secrets, now_unix, key, .. } =
                challenge;
            let case = Case::new(method, url.as_deref(), headers, body, secrets, *now_unix);
            let case = Case { keys: key.clone(), ..case };
            match case.admit(*provider) {
                Ok(Admitted::Challenge(reply)) => {
                    assert_eq!(reply.status, challenge.status, "{name}");
                    assert_eq!(reply.body, challenge.reply.as_bytes(), "{name}");
                }
                other => panic!("{}: {name}: {other:?}", provider.name()),
            }
            let is_proof = |name: &String| file.proof.headers.contains(name);
            let headers = case.headers.iter().filter(|(name, _)| !is_proof(name)).cloned();
            let unsigned = Case { headers: headers.collect(), ..case.clone() };
            let stranger = Case { secrets: vec![Secret::new("of a stranger").unwrap()], ..case };
            let open = file.proof.headers.is_empty();
            assert!(open || unsigned.admit(*provider).is_err(), "{name}: without a proof");
            assert!(stranger.admit(*provider).is_err(), "{name}: to another secret");
            answered += 1;
        }
    }
    assert!(answered > 0);
}

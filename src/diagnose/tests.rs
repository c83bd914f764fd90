//! Each thing that commonly goes wrong, and what is said of it.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use providers::{Draft, Provider, find, generic};
use std::path::PathBuf;
use std::time::Duration;

const NOW_S: i64 = 1_767_225_600;
const WINDOW: Window = Window { now_s: NOW_S, tolerance_s: 300 };
const URL: &str = "https://hooks.example.com/hooks/here";

fn source(name: &str, provider: &'static dyn Provider, secrets: &[&str]) -> Arc<Source> {
    Arc::new(Source {
        name: name.into(),
        provider,
        secrets: secrets.iter().filter_map(|text| Secret::new(text)).collect(),
        unsigned: false,
        disabled: false,
        body_bytes_max: 1 << 20,
        tolerance_s: 300,
        public_url: Some(URL.to_owned()),
        rate_per_s: None,
        keep_keys: Duration::ZERO,
        silent_after: None,
        split: true,
        verify_token: Secret::new("verify-me"),
        pending: false,
        confirm: true,
        handed_path: PathBuf::new(),
        keys: Default::default(),
    })
}

fn listed(name: &str) -> &'static dyn Provider {
    find(name).unwrap()
}

/// A home-made sender that signs what its URL is as well.
fn by_url() -> &'static dyn Provider {
    let event = generic::EventSettings {
        key: "digest".into(),
        kind: None,
        entity: None,
        occurred_at: None,
        occurred_at_unit: Default::default(),
        volatile: vec![],
    };
    let settings = generic::HmacSettings {
        header: "x-sig".into(),
        algorithm: Default::default(),
        encoding: Default::default(),
        prefix: String::new(),
        signed: "{url}{body}".into(),
        timestamp_header: None,
        timestamp_unit: Default::default(),
        secret: Default::default(),
        event,
    };
    Box::leak(generic::hmac(settings).unwrap())
}

/// What a sender signs, as it arrives: header names lower case.
fn signed(
    provider: &dyn Provider,
    secret: &str,
    url: &str,
    now_s: i64,
    body: &[u8],
) -> (Vec<(String, String)>, Vec<u8>) {
    let draft = Draft { kind: "push", key: "key-1", body: Some(body), now_s, url };
    let signed = provider.sign(&draft, &Secret::new(secret).unwrap()).unwrap();
    let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
    (signed.headers.into_iter().map(lower).collect(), signed.body)
}

fn judge(
    at: &Arc<Source>,
    others: &[Arc<Source>],
    headers: &[(String, String)],
    body: &[u8],
) -> (Cause, String) {
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
    let request = Request { method: "POST", url: URL, headers: &headers, body };
    let (secrets, target) = (&at.secrets[..], "/hooks/here");
    let (is_whole, window) = (true, WINDOW);
    let (reason, detail) = ("signature", "");
    let case =
        Case { source: at, secrets, others, request, target, is_whole, window, reason, detail };
    let Diagnosis { cause, text } = diagnose(&case);
    for secret in at.secrets.iter().chain(others.iter().flat_map(|other| &other.secrets)) {
        assert!(!text.contains(secret.expose().trim()), "{text}");
    }
    (cause, text)
}

/// What is said of a request that GitHub signed with `secret`, at a source that has `configured`.
fn of_github(secret: &str, configured: &str) -> (Cause, String) {
    let (headers, body) = signed(listed("github"), secret, URL, NOW_S, b"{\"a\":1}");
    judge(&source("here", listed("github"), &[configured]), &[], &headers, &body)
}

#[test]
fn a_wrong_secret_is_called_that_and_a_right_one_is_mended() {
    assert_eq!(of_github("lantern-41", "lantern-42").0, Cause::WrongSecret);
    assert_eq!(of_github("lantern-41", "lantern-41").0, Cause::Mended);
    assert_eq!(of_github("verify-me", "lantern-41").0, Cause::OtherSecret);
}

#[test]
fn a_clock_that_is_off_is_told_by_how_much() {
    for (off_s, way) in [(-4000, "4000 s behind"), (900, "900 s ahead of")] {
        let (headers, body) =
            signed(listed("stripe"), "whsec_abc", URL, NOW_S + off_s, b"{\"id\":\"e\"}");
        let at = source("here", listed("stripe"), &["whsec_abc"]);
        let (cause, text) = judge(&at, &[], &headers, &body);
        assert_eq!(cause, Cause::Clock);
        assert!(text.contains(way), "{text}");
    }
}

#[test]
fn secrets_and_urls_that_were_mixed_up_are_found() {
    let github = source("here", listed("github"), &["one-secret"]);
    let sibling = source("sibling", listed("github"), &["another-secret"]);
    let stripe = source("money", listed("stripe"), &["whsec_abc"]);
    let others = [github.clone(), sibling, stripe];
    let (headers, body) = signed(listed("github"), "another-secret", URL, NOW_S, b"{}");
    let (cause, text) = judge(&github, &others, &headers, &body);
    assert_eq!(cause, Cause::OtherSecret);
    assert!(text.contains("\"sibling\""), "{text}");
    let (headers, body) = signed(listed("stripe"), "whsec_abc", URL, NOW_S, b"{\"id\":\"e\"}");
    let (cause, text) = judge(&github, &others, &headers, &body);
    assert_eq!(cause, Cause::OtherSource);
    assert!(text.contains("\"money\" (stripe)"), "{text}");
    // Nobody here has the secret; the headers still tell who sent it.
    let (headers, body) = signed(listed("slack"), "unknown", URL, NOW_S, b"{}");
    let (cause, text) = judge(&github, &others, &headers, &body);
    assert_eq!(cause, Cause::OtherSender);
    assert!(text.contains("slack") && text.contains("github"), "{text}");
    let plain = [("content-type".to_owned(), "application/json".to_owned())];
    let (cause, text) = judge(&github, &others, &plain, b"{}");
    assert_eq!(cause, Cause::ProofMissing);
    assert!(text.starts_with("header x-hub-signature-256 is missing"), "{text}");
    let broken = [("x-hub-signature-256".to_owned(), "sha256=zz".to_owned())];
    assert_eq!(judge(&github, &others, &broken, b"{}").0, Cause::ProofMalformed);
}

#[test]
fn the_right_secret_in_the_wrong_form_is_recognised() {
    let key = b"\xff\x00\x9c0123456789abcdef";
    let (in_hex, in_base64) = (hex::encode(key), STANDARD.encode(key));
    for (sent, configured, what) in [
        ("lantern-41", " lantern-41 ", "white space"),
        ("lantern-41\n", "lantern-41", "line end"),
        ("lantern-41", "\"lantern-41\"", "quotation"),
        ("abcd", "whsec_abcd", "without its prefix"),
        ("lantern-41", "6c616e7465726e2d3431", "hexadecimal"),
        ("lantern-41", "bGFudGVybi00MQ==", "base64"),
    ] {
        let (cause, text) = of_github(sent, configured);
        assert_eq!(cause, Cause::SecretForm, "{sent:?} for {configured:?}: {text}");
        assert!(text.contains(what), "{text}");
    }
    // Bytes that are no text: the sender decodes, and the source does not.
    for (configured, what) in [(&in_hex, "hexadecimal"), (&in_base64, "base64")] {
        let digest = hex::encode(ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key),
            b"{}",
        ));
        let headers = [("x-hub-signature-256".to_owned(), format!("sha256={digest}"))];
        let at = source("here", listed("github"), &[configured]);
        let (cause, text) = judge(&at, &[], &headers, b"{}");
        assert_eq!(cause, Cause::SecretForm);
        assert!(text.contains(what), "{text}");
    }
    // The other way round: the source decodes, and the sender does not.
    let text = "whsec_aGFyYm9yLXF1YXJ0ei1sYW50ZXJuLTI0";
    let as_it_stands = format!("whsec_{}", STANDARD.encode(text));
    let svix = listed("standard_webhooks");
    let (headers, body) = signed(svix, &as_it_stands, URL, NOW_S, b"{}");
    let (cause, told) = judge(&source("here", svix, &[text]), &[], &headers, &body);
    assert_eq!(cause, Cause::SecretForm);
    assert!(told.contains("as it stands"), "{told}");
}

#[test]
fn a_body_that_was_rewritten_is_recognised_by_what_it_was() {
    let spaced = "{\"a\": [1, 2.50], \"b\": \"\u{e9}/\"}";
    let compact = "{\"a\":[1,2.50],\"b\":\"\u{e9}/\"}";
    let escaped = r#"{"a":[1,2.50],"b":"\u00e9\/"}"#;
    let indented = "{\n  \"a\": [\n    1,\n    2.50\n  ],\n  \"b\": \"\u{e9}/\"\n}";
    for (sent, arrived) in [
        (compact.to_owned(), spaced.to_owned()),
        (spaced.to_owned(), compact.to_owned()),
        (indented.to_owned(), compact.to_owned()),
        (escaped.to_owned(), compact.to_owned()),
        (compact.to_owned(), escaped.to_owned()),
        (compact.to_owned(), format!("{compact}\n")),
        (format!("{compact}\n"), compact.to_owned()),
        (compact.to_owned(), format!("\u{feff}{compact}")),
        (indented.replace('\n', "\r\n"), indented.to_owned()),
        (indented.to_owned(), indented.replace('\n', "\r\n")),
    ] {
        let at = source("here", listed("github"), &["other", "lantern-41"]);
        let (headers, _) = signed(listed("github"), "lantern-41", URL, NOW_S, sent.as_bytes());
        let (cause, text) = judge(&at, &[], &headers, arrived.as_bytes());
        assert_eq!(cause, Cause::BodyAltered, "{sent:?} as {arrived:?}: {text}");
        assert!(text.contains("byte for byte"), "{text}");
    }
    let at = source("here", listed("github"), &["lantern-41"]);
    let (headers, _) = signed(listed("github"), "lantern-41", URL, NOW_S, compact.as_bytes());
    let changed = compact.replace('1', "2");
    assert_eq!(judge(&at, &[], &headers, changed.as_bytes()).0, Cause::WrongSecret);
}

#[test]
fn a_url_that_was_given_otherwise_is_told_without_its_query() {
    let provider = by_url();
    let at = source("here", provider, &["lantern-41"]);
    for url in [
        "http://hooks.example.com/hooks/here",
        "https://hooks.example.com/hooks/here/",
        "https://inner.example.net/hooks/here",
        "https://front.example.net/hooks/here",
    ] {
        let (mut headers, body) = signed(provider, "lantern-41", url, NOW_S, b"{}");
        headers.push(("host".to_owned(), "inner.example.net".to_owned()));
        headers.push(("x-forwarded-host".to_owned(), "front.example.net".to_owned()));
        let (cause, text) = judge(&at, &[], &headers, &body);
        assert_eq!(cause, Cause::OtherUrl, "{text}");
        assert!(text.contains(&format!("the URL {url}: set sources.here.public_url")), "{text}");
    }
}

#[test]
fn a_long_body_is_not_tried_in_every_form() {
    let at = source("here", listed("github"), &["lantern-41"]);
    for (bytes, cause) in
        [(BODY_BYTES_MAX - 1, Cause::BodyAltered), (BODY_BYTES_MAX, Cause::WrongSecret)]
    {
        let mut body = vec![b'x'; bytes];
        let (headers, _) = signed(listed("github"), "lantern-41", URL, NOW_S, &body);
        body.push(b' ');
        assert_eq!(judge(&at, &[], &headers, &body).0, cause, "{bytes}");
    }
}

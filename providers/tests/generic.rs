//! Senders made of configuration: what is proved, what is read, and which settings are refused. The
//! signatures here were made with Python's `hmac`, not with the code under test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use providers::generic::{self, HmacSettings, TokenSettings};
use providers::{
    Admitted, Coverage, Draft, Event, Provider, Rejection, Request, Secret, Window, admit,
};

const BODY: &str = r#"{"id":"e-1","type":"letter.sent","about":{"rider":7},"at":1767225600.5}"#;
const URL: &str = "https://example.com/h";
const KEY: &str = "gh-cedar-lantern-41";
/// HMAC-SHA256 under `KEY` over `1767225600.` and `BODY`.
const TIME_BODY: &str = "d241f39133a8105ff249cf79751de5c36d533bdde43be292d1883e863aecf7f0";
/// HMAC-SHA512 under the bytes 00 ff 10 over `msg-1|1767225600000|POST|URL|BODY`.
const SHA512: &str = "47Pt7VyL/8784GhypQAQrKBcelv0gkwAuATcMSAn5sTKdGfeLKHYPghQyKk88XqdJbNFJUys\
                      T7639ighzXnNGQ==";
/// HMAC-SHA1 under `secret` over `BODY`.
const SHA1: &str = "3c5c9bfea226a2e726febfb6b2362c1e51be4985";
const NOW_S: i64 = 1_767_225_600;

fn hmac(settings: &str) -> Result<Box<dyn Provider>, String> {
    generic::hmac(toml::from_str::<HmacSettings>(settings).map_err(|fault| fault.to_string())?)
}

fn token(settings: &str) -> Result<Box<dyn Provider>, String> {
    generic::token(toml::from_str::<TokenSettings>(settings).map_err(|fault| fault.to_string())?)
}

fn ask(
    provider: &dyn Provider,
    headers: &[(&str, &str)],
    body: &str,
    secret: &str,
) -> Result<(Event, Coverage), Rejection> {
    let headers: Vec<(&str, &[u8])> =
        headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let request = Request { method: "POST", url: URL, headers: &headers, body: body.as_bytes() };
    let secret = Secret::new(secret).unwrap();
    let window = Window { now_s: NOW_S, tolerance_s: 300 };
    match admit(provider, &request, &[secret], window)? {
        Admitted::Events { mut events, coverage, .. } => Ok((events.remove(0), coverage)),
        Admitted::Challenge(reply) => panic!("{reply:?}"),
    }
}

#[test]
fn the_plainest_signature_is_proved_and_a_request_without_id_is_refused() {
    let provider = hmac("header = 'X-Signature'\nevent.key = 'header:X-Request-Id'").unwrap();
    let signature = "9fd07fa28face55b6b82c5012a65a1aa2c2ee72a24524e0ff8d0d49bbabffb06";
    let headers = [("x-signature", signature), ("x-request-id", "r-1")];
    let (event, coverage) = ask(&*provider, &headers, r#"{"press":1}"#, KEY).unwrap();
    assert_eq!((event.key.as_str(), coverage), ("r-1", Coverage::Body));
    assert_eq!((event.kind.as_str(), event.entity), ("", None));
    assert_eq!(provider.forwarded(), ["x-request-id"]);
    let without = ask(&*provider, &headers[..1], r#"{"press":1}"#, KEY);
    assert!(matches!(without, Err(Rejection::Unreadable(_))), "{without:?}");
    for (headers, body, secret) in [
        (&headers[..], r#"{"press":2}"#, KEY),
        (&headers[..], r#"{"press":1}"#, "another"),
        (&headers[1..], r#"{"press":1}"#, KEY),
    ] {
        assert!(ask(&*provider, headers, body, secret).is_err(), "{body}");
    }
}

#[test]
fn time_prefix_and_places_are_followed() {
    let provider = hmac(
        "header = 'x-sig'\nprefix = 'v1='\nsigned = '{timestamp}.{body}'\n\
         timestamp_header = 'X-Time'\n[event]\nkey = 'json:/id'\nkind = 'json:/type'\n\
         entity = 'json:/about/rider'\noccurred_at = 'json:/at'\nvolatile = ['/attempt']",
    )
    .unwrap();
    let good = format!("v1={TIME_BODY}");
    let headers = [("x-sig", good.as_str()), ("x-time", "1767225600")];
    let (event, _) = ask(&*provider, &headers, BODY, KEY).unwrap();
    assert_eq!((event.key.as_str(), event.kind.as_str()), ("e-1", "letter.sent"));
    assert_eq!(event.entity.as_deref(), Some("7"));
    assert_eq!(event.position.occurred_at_us, Some(1_767_225_600_500_000));
    assert_eq!(event.volatile, ["/attempt"]);
    for (index, value, expected) in [
        (1, "1767225601", "signature"),
        (1, "1767225600000", "signature"),
        (1, "today", "header_malformed"),
        (0, TIME_BODY, "header_malformed"),
        (0, "v1=", "header_malformed"),
    ] {
        let mut headers = headers;
        headers[index].1 = value;
        let rejection = ask(&*provider, &headers, BODY, KEY).unwrap_err();
        assert_eq!(rejection.label(), expected, "{value}: {rejection}");
    }
}

#[test]
fn other_hashes_encodings_and_templates_are_followed() {
    let provider = hmac(
        "header = 'x-sig'\nalgorithm = 'sha512'\nencoding = 'base64'\nsecret = 'hex'\n\
         signed = '{id}|{timestamp}|{method}|{url}|{body}'\ntimestamp_header = 'x-time'\n\
         timestamp_unit = 'ms'\nevent = { key = 'header:x-id' }",
    )
    .unwrap();
    let headers = [("x-sig", SHA512), ("x-time", "1767225600000"), ("x-id", "msg-1")];
    assert_eq!(ask(&*provider, &headers, BODY, "00ff10").unwrap().0.key, "msg-1");
    let other = [headers[0], headers[1], ("x-id", "msg-2")];
    assert!(ask(&*provider, &other, BODY, "00ff10").is_err());
    let not_hex = ask(&*provider, &headers, BODY, "00ff1").unwrap_err();
    assert_eq!(not_hex.label(), "secret");
    assert!(provider.secret_fault(&Secret::new("xyz").unwrap()).is_some());

    let provider =
        hmac("header = 'x-sig'\nalgorithm = 'sha1'\nsecret = 'base64'\nevent = { key = 'digest' }")
            .unwrap();
    let (event, _) = ask(&*provider, &[("x-sig", SHA1)], BODY, "c2VjcmV0").unwrap();
    assert!(event.key.starts_with("sha256:"));
}

#[test]
fn a_digest_leaves_volatile_fields_out_and_still_tells_bodies_apart() {
    let provider =
        token("header = 'x-token'\nevent = { key = 'digest', volatile = ['/attempt'] }").unwrap();
    let key = |body: &str| ask(&*provider, &[("x-token", KEY)], body, KEY).unwrap().0.key;
    assert_eq!(key(r#"{"n":1,"attempt":1}"#), key(r#"{"attempt":2,"n":1}"#));
    assert_ne!(key(r#"{"n":1,"attempt":1}"#), key(r#"{"n":2,"attempt":1}"#));
    assert_ne!(key("not json"), key("not json either"));
    let plain = token("header = 'x-token'\nevent.key = 'digest'").unwrap();
    let key = |body: &str| ask(&*plain, &[("x-token", KEY)], body, KEY).unwrap().0.key;
    assert_ne!(key(r#"{"n":1}"#), key(r#"{"n": 1}"#));
}

#[test]
fn a_token_proves_the_sender_only_and_must_be_equal() {
    let provider = token(
        "header = 'Authorization'\nprefix = 'Bearer '\n\
         event = { key = 'header:x-id', kind = 'header:x-kind' }",
    )
    .unwrap();
    assert_eq!(provider.coverage(), Coverage::Sender);
    assert_eq!(provider.forwarded(), ["x-id", "x-kind"]);
    let ask = |value: &str| {
        let headers = [("authorization", value), ("x-id", "1"), ("x-kind", "a\u{7}b")];
        ask(&*provider, &headers, BODY, KEY)
    };
    let (event, coverage) = ask(&format!("Bearer {KEY}")).unwrap();
    assert_eq!((event.kind.as_str(), coverage), ("ab", Coverage::Sender));
    for bad in [
        "",
        "Bearer ",
        KEY,
        "bearer gh-cedar-lantern-41",
        "Bearer gh-cedar-lantern-4",
        "Bearer gh-cedar-lantern-411",
        "Bearer GH-CEDAR-LANTERN-41",
        "Bearer  gh-cedar-lantern-41",
    ] {
        assert!(ask(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn trial_requests_are_admitted() {
    for settings in [
        "header = 'x-sig'\nprefix = 'sha256='\nevent = { key = 'header:x-id', kind = 'json:/a/b' }",
        "header = 'x-sig'\nsigned = '{id}.{timestamp}.{body}'\ntimestamp_header = 'x-time'\n\
         timestamp_unit = 'ms'\nevent = { key = 'header:x-id', kind = 'header:x-kind' }",
        "header = 'x-sig'\nencoding = 'base64'\nevent = { key = 'json:/id', kind = 'json:/k' }",
        "header = 'x-sig'\nsigned = '{method}{url}{body}'\n\
         event = { key = 'json:/id', kind = 'json:/k' }",
    ] {
        let provider = hmac(settings).unwrap();
        let secret = Secret::new(KEY).unwrap();
        let draft = Draft { kind: "letter.sent", key: "trial", body: None, now_s: NOW_S, url: URL };
        let signed = provider.sign(&draft, &secret).unwrap();
        let headers: Vec<(&str, &str)> =
            signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = String::from_utf8(signed.body.clone()).unwrap();
        let (event, _) = ask(&*provider, &headers, &body, KEY).unwrap();
        assert_eq!((event.key.as_str(), event.kind.as_str()), ("trial", "letter.sent"));
    }
}

#[test]
fn settings_that_cannot_work_or_prove_too_little_are_refused() {
    for (settings, fault) in [
        ("header = 'x sig'\nevent.key = 'digest'", "header:"),
        ("header = ''\nevent.key = 'digest'", "header:"),
        ("header = 'x'\nevent.key = 'x-id'", "event.key:"),
        ("header = 'x'\nevent.key = 'json:id'", "slash"),
        ("header = 'x'\nevent.key = 'header:X'", "carries the proof"),
        ("header = 'x'\nevent.key = 'header:Authorization'", "credentials"),
        ("header = 'x'\nevent = { key = 'digest', kind = 'digest' }", "event.kind:"),
        ("header = 'x'\nevent = { key = 'digest', volatile = ['n'] }", "event.volatile:"),
        ("header = 'x'\nsigned = '{timestamp}'\nevent.key = 'digest'", "{body}"),
        ("header = 'x'\nsigned = '{timestamp}.{body}'\nevent.key = 'digest'", "go together"),
        ("header = 'x'\ntimestamp_header = 't'\nevent.key = 'digest'", "go together"),
        ("header = 'x'\nsigned = '{id}{body}'\nevent.key = 'digest'", "{id}"),
        ("header = 'x'\nsigned = '{body}{nonce}'\nevent.key = 'digest'", "{nonce}"),
        ("header = 'x'\nsigned = '{body}{'\nevent.key = 'digest'", "without"),
        ("header = 'x'\nalgorithm = 'md5'\nevent.key = 'digest'", "md5"),
        ("header = 'x'\nheadr = 'y'\nevent.key = 'digest'", "headr"),
        ("header = 'x'\nevent = { key = 'digest', kinds = 'y' }", "kinds"),
        ("header = 'x'\nevent = {}", "key"),
    ] {
        let refused = hmac(settings).err().unwrap_or_default();
        assert!(refused.contains(fault), "{settings}: {refused}");
    }
    let refused = token("header = 'x'\nevent.key = 'header:x'").err().unwrap_or_default();
    assert!(refused.contains("carries the proof"), "{refused}");
}

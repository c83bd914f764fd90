//! What cannot be reached from outside: empty keys, coverage, times, the bound on work.

use super::ed25519::CLAIMS_MAX;
use super::*;
use crate::text::Unit;

static REQUEST: Request<'_> = Request { method: "POST", url: "", headers: &[], body: b"{}" };
const WINDOW: Window = Window { now_s: 1_767_225_600, tolerance_s: 300 };

fn stamped(text: &[u8], unit: Unit) -> Option<Rejection> {
    let proved = prove_token(&REQUEST, b"token", b"token").ok()?;
    Stamp::read("x-time", text, unit).and_then(|stamp| proved.within(stamp, WINDOW)).err()
}

#[test]
fn an_empty_key_proves_nothing_however_it_is_written() {
    for key in [&b""[..], b"\0", &[0; 24]] {
        assert_eq!(hmac(Hash::Sha256, key, &[b"{}"]), None);
        let proof = prove_hmac(&REQUEST, Hash::Sha256, key, &[REQUEST.body], &[Vec::new()]);
        assert_eq!(proof.map(|_| ()).map_err(|fault| fault.label()), Err("secret"));
    }
    assert!(prove_token(&REQUEST, b"", b"").is_err());
}

#[test]
fn coverage_is_what_was_fed_to_the_check() {
    let prove = |parts: &[&[u8]]| {
        let tag = hmac(Hash::Sha256, b"key", parts).unwrap_or_default();
        prove_hmac(&REQUEST, Hash::Sha256, b"key", parts, &[tag]).map(|p| p.coverage())
    };
    assert_eq!(prove(&[b"1.", REQUEST.body]), Ok(Coverage::Body));
    assert_eq!(prove(&[b"1."]), Ok(Coverage::Sender));
    assert_eq!(prove_token(&REQUEST, b"a", b"a").map(|p| p.coverage()), Ok(Coverage::Sender));
}

#[test]
fn a_time_is_plain_digits_and_never_overflows() {
    assert_eq!(stamped(b"1767225600", Unit::Seconds), None);
    assert_eq!(stamped(b"1767225900", Unit::Seconds), None);
    assert_eq!(stamped(b"1767225600999", Unit::Millis), None);
    for (text, unit) in [
        (&b"1767225901"[..], Unit::Seconds),
        (b"1767225299", Unit::Seconds),
        (b"1767225600000", Unit::Seconds),
        (b"1767225600", Unit::Millis),
        (b"0", Unit::Seconds),
        (b"99999999999999999999", Unit::Seconds),
        (b"9223372036854775807", Unit::Millis),
    ] {
        let outcome = stamped(text, unit);
        assert!(matches!(outcome, Some(Rejection::TimestampOutside { .. })), "{outcome:?}");
    }
    let long = [b'9'; 5000];
    for text in [&b""[..], b"-1", b"+1", b" 1", b"1.5", b"hello", "１６".as_bytes(), &long] {
        let outcome = stamped(text, Unit::Seconds);
        assert!(matches!(outcome, Some(Rejection::HeaderMalformed(..))), "{outcome:?}");
    }
}

#[test]
fn a_header_full_of_signatures_does_not_buy_work_without_end() {
    let pair = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let good = ed25519_dalek::Signer::sign(&pair, b"{}").to_bytes().to_vec();
    let public = pair.verifying_key().to_bytes();
    let prove = |bad: usize| {
        let mut claims = vec![vec![0; 64]; bad];
        claims.push(good.clone());
        prove_ed25519(&REQUEST, &public, &[REQUEST.body], &claims).is_ok()
    };
    assert!(prove(CLAIMS_MAX - 1));
    assert!(!prove(CLAIMS_MAX));
}

#[test]
fn basic_authentication_is_the_whole_text_and_its_scheme_of_either_case() {
    let secret = |text: &str| crate::Secret::new(text).unwrap();
    let ask = |value: &str, text: &str| {
        let headers: [(&str, &[u8]); 1] = [("authorization", value.as_bytes())];
        prove_basic(&Request { headers: &headers, ..REQUEST }, &secret(text)).map(|p| p.coverage())
    };
    assert_eq!(ask(&basic(&secret("u:p:q")), "u:p:q"), Ok(Coverage::Sender));
    assert_eq!(ask("bAsIc dTpwOnE=", "u:p:q"), Ok(Coverage::Sender));
    assert_eq!(ask("Basic dTpwOnE=", "u:p"), Err(Rejection::SignatureMismatch));
    for (value, text) in [("Basic dTpwOnE", "u:p:q"), ("Basic", "u:p"), ("Bearer dTpw", "u:p")] {
        assert!(matches!(ask(value, text), Err(Rejection::HeaderMalformed(..))), "{value}");
    }
    assert!(matches!(ask("Basic dXA=", "up"), Err(Rejection::SecretUnusable(_))));
}

#[test]
fn a_plain_hash_begins_with_the_secret_and_needs_one() {
    let claim = sha2::Digest::finalize(sha2::Digest::chain_update(
        <sha2::Sha256 as sha2::Digest>::new_with_prefix(b"key"),
        REQUEST.body,
    ));
    let prove = |key: &[u8], claim: &[u8]| {
        prove_digest(&REQUEST, key, &[REQUEST.body], claim).map(|proved| proved.coverage())
    };
    assert_eq!(prove(b"key", &claim), Ok(Coverage::Body));
    assert_eq!(prove(b"other", &claim), Err(Rejection::SignatureMismatch));
    assert_eq!(prove(b"key", &claim[..31]), Err(Rejection::SignatureMismatch));
    assert!(matches!(prove(b"", &claim), Err(Rejection::SecretUnusable(_))));
}

#[test]
fn a_decoded_body_counts_as_covered_only_where_the_shape_says_so() {
    let tag = hmac(Hash::Md5, b"key", &[b"decoded"]).unwrap();
    let plain = prove_hmac(&REQUEST, Hash::Md5, b"key", &[b"decoded"], std::slice::from_ref(&tag));
    assert_eq!(plain.map(|proved| proved.coverage()), Ok(Coverage::Sender));
    let decoded = prove_hmac_decoded(&REQUEST, Hash::Md5, b"key", &[b"decoded"], &[tag]);
    assert_eq!(decoded.map(|proved| proved.coverage()), Ok(Coverage::Body));
}

#[test]
fn a_date_is_a_time_as_well() {
    let stamp = |text: &[u8]| Stamp::date("x-time", text).map(Stamp::seconds);
    assert_eq!(stamp(b"2026-01-01T00:00:00.123456789Z"), Ok(1_767_225_600));
    assert_eq!(stamp(b"1969-12-31T23:59:59.5Z"), Ok(-1));
    for text in [&b""[..], b"now", b"2026-01-01", b"\xff"] {
        assert!(matches!(stamp(text), Err(Rejection::HeaderMalformed(..))));
    }
}

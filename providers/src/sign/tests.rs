//! What cannot be reached from outside: empty keys, coverage, times, the bound on work.

use super::*;

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

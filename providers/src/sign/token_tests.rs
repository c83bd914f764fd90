//! Tokens and public keys: what a forger would try with them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use serde_json::json;

use super::*;

static REQUEST: Request<'_> = Request { method: "POST", url: "", headers: &[], body: b"{}" };
/// SHA-256 of `{}`.
const BODY: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
const NOW_S: i64 = 1_767_225_600;

fn token(head: &str, claims: &str, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(head), encode(claims));
    let signature = sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn shared(token: &str, key: &[u8]) -> Result<Option<String>, Rejection> {
    let claims = Jwt::read(token.as_bytes(), Algorithm::Hs256)?.prove_shared(&REQUEST, key)?;
    Ok(claims.text("/sub"))
}

#[test]
fn a_shared_token_is_read_once_it_is_proved() {
    let good = shared_token(&json!({ "sub": "me" }), b"key").unwrap();
    assert_eq!(shared(&good, b"key"), Ok(Some("me".to_owned())));
    assert_eq!(shared(&good, b"other"), Err(Rejection::SignatureMismatch));
    assert!(matches!(shared(&good, b""), Err(Rejection::SecretUnusable(_))));
    for at in 0..good.len() {
        let mut bent = good.clone().into_bytes();
        bent[at] = if bent[at] == b'A' { b'B' } else { b'A' };
        assert!(shared(std::str::from_utf8(&bent).unwrap(), b"key").is_err(), "at {at}");
    }
    for text in ["", ".", "..", "a.b.c", &format!("{good}.x"), &format!("{good}="), &good[1..]] {
        assert!(shared(text, b"key").is_err(), "{text}");
    }
    assert!(shared(&"a".repeat(10_000), b"key").is_err());
}

#[test]
fn the_token_never_chooses_its_algorithm() {
    let hmac = |key: &'static [u8]| move |m: &[u8]| hmac(Hash::Sha256, key, &[m]).unwrap();
    for head in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"typ":"JWT"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        "[]",
        "HS256",
    ] {
        let forged = token(head, r#"{"sub":"me"}"#, hmac(b"key"));
        assert!(matches!(shared(&forged, b"key"), Err(Rejection::ProofMalformed(_))), "{head}");
    }
    // An HMAC under the public key, which everyone knows, is no signature of its owner.
    let forged = token(r#"{"alg":"HS256"}"#, "{}", hmac(b"-----BEGIN PUBLIC KEY-----"));
    for algorithm in [Algorithm::Rs256, Algorithm::Es256] {
        assert!(Jwt::read(forged.as_bytes(), algorithm).is_err());
    }
}

#[test]
fn a_token_of_a_public_key_binds_its_claims_and_its_body() {
    let pair = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
    let other = p256::ecdsa::SigningKey::from_slice(&[8; 32]).unwrap();
    let sign = |message: &[u8]| -> Vec<u8> {
        let signature: p256::ecdsa::Signature = pair.sign(message);
        signature.to_bytes().to_vec()
    };
    let claims = format!(r#"{{"iss":"a","iat":{NOW_S},"exp":{},"d":"{BODY}"}}"#, NOW_S + 3600);
    let good = token(r#"{"alg":"ES256","kid":"k"}"#, &claims, sign);
    let jwt = Jwt::read(good.as_bytes(), Algorithm::Es256).unwrap();
    assert_eq!(jwt.kid.as_deref(), Some("k"));
    let key = PublicKey::P256(*pair.verifying_key());
    let prove = || jwt.prove_public(&REQUEST, &key);
    let window = |now_s| Window { now_s, tolerance_s: 300 };
    assert_eq!(prove().unwrap().proof().coverage(), Coverage::Sender);
    assert_eq!(
        prove().and_then(|c| c.demand_body("/d")).unwrap().proof().coverage(),
        Coverage::Body
    );
    let mismatch = |claims: Result<jwt::Claimed<'_>, Rejection>| {
        assert_eq!(claims.err(), Some(Rejection::SignatureMismatch));
    };
    mismatch(jwt.prove_public(&REQUEST, &PublicKey::P256(*other.verifying_key())));
    mismatch(prove().and_then(|claims| claims.demand_body("/iss")));
    mismatch(prove().and_then(|claims| claims.demand_body("/none")));
    mismatch(prove().and_then(|claims| claims.demand("/iss", &["b", ""])));
    mismatch(prove().and_then(|claims| claims.demand("/none", &[""])));
    assert!(prove().and_then(|claims| claims.demand("/iss", &["b", "a"])).is_ok());
    for (now_s, good) in [(-301, false), (-300, true), (3600, true), (3601, false)] {
        let current = prove().and_then(|claims| claims.current(window(NOW_S + now_s)));
        assert_eq!(current.is_ok(), good, "{now_s}");
    }
    for (now_s, good) in [(-301, false), (-300, true), (300, true), (301, false)] {
        let issued = prove().and_then(|claims| claims.issued_within(window(NOW_S + now_s)));
        assert_eq!(issued.is_ok(), good, "{now_s}");
    }
}

#[test]
fn keys_are_found_by_their_id_in_every_form_that_is_published() {
    let pair = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
    let point = pair.verifying_key().to_sec1_point(false);
    let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (x, y) = (number(&point.as_bytes()[1..33]), number(&point.as_bytes()[33..]));
    let key = json!({ "kty": "EC", "crv": "P-256", "kid": "k", "x": x, "y": y });
    let has =
        |document: serde_json::Value, id| published(document.to_string().as_bytes(), id).is_some();
    assert!(has(json!({ "keys": [{ "kid": "a" }, key] }), "k"));
    assert!(!has(json!({ "keys": [key] }), "other"));
    assert!(has(json!({ "key": key }), "k") && has(key.clone(), "k"));
    assert!(!has(json!({ "key": key }), "other") && !has(key.clone(), "other"));
    let mut nameless = key.clone();
    nameless["kid"] = json!(null);
    assert!(has(nameless.clone(), "k") && !has(json!({ "keys": [nameless] }), "k"));
    let mut off_curve = key;
    off_curve["x"] = json!(number(&[1; 32]));
    assert!(!has(off_curve, "k"));
    let short = json!({ "kty": "RSA", "kid": "k", "n": number(&[0xf1; 128]), "e": "AQAB" });
    assert!(!has(short, "k"), "1024 bits");
    let long = json!({ "kty": "RSA", "kid": "k", "n": number(&[0xf1; 256]), "e": "AQAB" });
    assert!(has(long, "k"));
    let both = "-----BEGIN PUBLIC KEY-----\n-----BEGIN CERTIFICATE-----\nAAAA\n";
    for text in ["", "{}", "[]", "null", "-----BEGIN PUBLIC KEY-----", both, "\u{0}"] {
        assert!(published(text.as_bytes(), "k").is_none(), "{text}");
    }
}

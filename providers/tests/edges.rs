//! What single senders need beyond the battery: handshakes that must not sign for strangers, keys
//! that depend on the moment of arrival, answers and secrets of their own form.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use providers::{
    ALL, Admitted, Draft, Handshaking, Part, Provider, Rejection, Reply, Request, Secret, Window,
    admit, admit_unsigned, find, json,
};

const URL: &str = "https://hooks.example.com/hooks/source";
const NOW_S: i64 = 1_767_225_600;
const WINDOW: Window = Window { now_s: NOW_S, tolerance_s: 300 };
const SECRET: &str = "c2VjcmV0LXNlY3JldA==";

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

/// Signatures over `text` as a sender might write them: of the secret's text and of its base64.
fn tags(text: &[u8]) -> Vec<String> {
    let keys = [SECRET.as_bytes().to_vec(), STANDARD.decode(SECRET).unwrap()];
    let tags = keys.iter().map(|key| {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key).unwrap();
        mac.update(text);
        mac.finalize().into_bytes().to_vec()
    });
    tags.flat_map(|tag| [hex::encode(&tag), STANDARD.encode(&tag)]).collect()
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Everything that anyone may ask of a provider before a proof, with `text` wherever a token goes.
fn ask(provider: &dyn Provider, text: &str, pending: bool) -> Vec<Reply> {
    let names = ["crc_token", "challenge", "hub.challenge", "bt_challenge", "validationToken"];
    let query: Vec<String> = names.iter().map(|n| format!("{n}={}", escaped(text))).collect();
    let url = format!("{URL}?hub.mode=subscribe&hub.verify_token=t&{}", query.join("&"));
    let quoted = serde_json::Value::from(text).to_string();
    let bodies = [
        String::new(),
        text.to_owned(),
        format!(r#"{{"event":"endpoint.url_validation","payload":{{"plainToken":{quoted}}}}}"#),
        format!(r#"{{"type":"url_verification","challenge":{quoted}}}"#),
        format!(r#"{{"verification_token":{quoted}}}"#),
        format!("webhook_id={text}"),
    ];
    let headers = ["x-hook-secret", "x-okta-verification-challenge", "webhook-request-origin"]
        .map(|name| (name, text.as_bytes()));
    let (secrets, token) = ([secret(SECRET)], secret("t"));
    let at = Handshaking { secrets: &secrets, verify_token: Some(&token), pending };
    let asked = ["GET", "POST", "HEAD", "OPTIONS"].iter().flat_map(|method| {
        let request = |body: &str| {
            let request = Request { method, url: &url, headers: &headers, body: body.as_bytes() };
            provider.handshake(&request, &at).map(|handshake| handshake.reply)
        };
        bodies.iter().filter_map(|body| request(body)).collect::<Vec<_>>()
    });
    asked.collect()
}

#[test]
fn no_handshake_signs_an_event_for_a_stranger() {
    for provider in ALL {
        for kind in ["message", "invoice.paid"] {
            let draft = Draft { kind, key: "forged", body: None, now_s: NOW_S, url: URL };
            let Some(signed) = provider.sign(&draft, &secret("of the stranger:x")) else {
                continue;
            };
            let event = String::from_utf8(signed.body).unwrap();
            for wanted in [
                event.clone(),
                format!("v0:{NOW_S}:{event}"),
                format!("{NOW_S}.{event}"),
                format!("{NOW_S}{event}"),
                format!("{event}{NOW_S}"),
            ] {
                let tags = tags(wanted.as_bytes());
                for reply in [true, false].iter().flat_map(|now| ask(*provider, &wanted, *now)) {
                    let body = String::from_utf8_lossy(&reply.body).into_owned();
                    let text = format!("{body} {:?}", reply.headers);
                    let told = tags.iter().any(|tag| text.contains(tag));
                    assert!(!told, "{}: signed {wanted}: {text}", provider.name());
                }
            }
        }
    }
}

#[test]
fn what_x_signs_as_a_token_never_passes_for_a_body() {
    let x = find("x_twitter").unwrap();
    let longest = "x".repeat(128);
    for token in ["a", "YmFzZTY0LW5vbmNl", "12345", "true", "null", longest.as_str()] {
        let replies = ask(x, token, false);
        let answer: serde_json::Value = serde_json::from_slice(&replies[0].body).unwrap();
        let signature = answer["response_token"].as_str().unwrap();
        let own = tags(token.as_bytes()).iter().any(|tag| signature == format!("sha256={tag}"));
        assert!(own, "{token}: {signature}");
        let headers = [("x-twitter-webhooks-signature", signature.as_bytes())];
        let body = token.as_bytes();
        let request = Request { method: "POST", url: URL, headers: &headers, body };
        let outcome = admit(x, &request, &[secret(SECRET)], WINDOW);
        assert!(matches!(outcome, Err(Rejection::ProofMalformed(_))), "{token}: {outcome:?}");
    }
    assert_eq!(ask(x, &"x".repeat(129), false), []);
}

/// A request signed by the provider itself, admitted at a moment.
fn admitted(
    provider: &dyn Provider,
    body: &str,
    text: &str,
    now_s: i64,
) -> Result<Admitted, Rejection> {
    let draft = Draft { kind: "k", key: "1", body: Some(body.as_bytes()), now_s, url: URL };
    let signed = provider.sign(&draft, &secret(text)).unwrap();
    let lower: Vec<(String, String)> =
        signed.headers.iter().map(|(name, v)| (name.to_ascii_lowercase(), v.clone())).collect();
    let headers: Vec<(&str, &[u8])> =
        lower.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "POST", url: URL, headers: &headers, body: &signed.body };
    admit(provider, &request, &[secret(text)], Window { now_s, ..WINDOW })
}

#[test]
fn zoom_signs_tokens_only_and_under_a_proof_only() {
    let zoom = find("zoom").unwrap();
    let validation = |token: &str| {
        let token = serde_json::Value::from(token);
        format!(r#"{{"event":"endpoint.url_validation","payload":{{"plainToken":{token}}}}}"#)
    };
    match admitted(zoom, &validation("qgg8vlvZRS6UYooatFL8Aw"), SECRET, NOW_S) {
        Ok(Admitted::Challenge(reply)) => {
            let text = String::from_utf8(reply.body).unwrap();
            assert!(tags(b"qgg8vlvZRS6UYooatFL8Aw").iter().any(|tag| text.contains(tag)));
        }
        other => panic!("{other:?}"),
    }
    for token in ["", "v0:1767225600:{}", "{}", "a b", &"x".repeat(129)] {
        let outcome = admitted(zoom, &validation(token), SECRET, NOW_S);
        assert!(matches!(outcome, Err(Rejection::Unreadable(_))), "{token}: {outcome:?}");
    }
}

#[test]
fn equal_notifications_of_dropbox_are_told_apart_by_the_moment_they_arrive() {
    let dropbox = find("dropbox").unwrap();
    let keys = |accounts: &str, now_s: i64| {
        let body = format!(r#"{{"list_folder":{{"accounts":[{accounts}]}}}}"#);
        match admitted(dropbox, &body, SECRET, now_s) {
            Ok(Admitted::Events { events, .. }) => {
                events.into_iter().map(|event| event.key).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        }
    };
    let first = keys("\"dbid:A\",\"dbid:B\"", NOW_S);
    assert_eq!(first, keys("\"dbid:A\", \"dbid:B\"", NOW_S));
    assert_eq!(first[1..], keys("\"dbid:B\"", NOW_S));
    let next = keys("\"dbid:A\",\"dbid:B\"", NOW_S + 1);
    assert!(first.iter().all(|key| !next.contains(key)), "a change would be lost");
}

#[test]
fn answers_and_refusals_are_those_the_senders_ask_for() {
    assert_eq!(find("gocardless").unwrap().refusal_status(), 498);
    for name in ["airtable", "xero"] {
        let reply = find(name).unwrap().accepted().unwrap();
        assert_eq!((reply.status, reply.body.len()), (200, 0), "{name}");
    }
}

#[test]
fn secrets_of_a_form_of_their_own_are_told_apart() {
    for (provider, text, fault) in [
        ("airtable", "YWlydGFibGUtbWFj", None),
        ("airtable", "not base64!", Some("macSecretBase64")),
        ("chargebee", "hookuser:s3cr3t:with:colons", None),
        ("chargebee", "s3cr3t", Some("user:password")),
        ("postmark", "s3cr3t", Some("user:password")),
        ("telegram", "A1b2C3_d4-e5", None),
        ("telegram", "with a space", Some("letters")),
        ("telegram", &"x".repeat(257), Some("256")),
        ("razorpay", "sk_live_1", Some("API key")),
    ] {
        let found = find(provider).unwrap().secret_fault(&secret(text));
        let told = |fault: &str| found.as_ref().is_some_and(|found| found.contains(fault));
        assert_eq!(found.is_some(), fault.is_some(), "{provider} {text}: {found:?}");
        assert!(fault.is_none_or(told), "{provider} {text}: {found:?}");
    }
}

#[test]
fn an_event_is_the_same_delivery_alone_and_in_a_batch() {
    let change = |id: &str| format!(r#"{{"value":{{"messages":[{{"id":"{id}"}}]}},"field":"m"}}"#);
    let entity = |id: &str| format!(r#"{{"name":"Customer","id":"{id}","operation":"Create"}}"#);
    let tweet = |id: &str| format!(r#"{{"id_str":"{id}","text":"\u00e4"}}"#);
    for (name, before, after, item) in [
        (
            "meta",
            r#"{"object":"page","entry":[{"id":"7","time":1,"changes":["#,
            "]}]}",
            &change as &dyn Fn(&str) -> String,
        ),
        (
            "quickbooks",
            r#"{"eventNotifications":[{"realmId":"1","dataChangeEvent":{"entities":["#,
            "]}}]}",
            &entity,
        ),
        ("x_twitter", r#"{"for_user_id":"1","tweet_create_events":["#, "]}", &tweet),
        ("dropbox", r#"{"list_folder":{"accounts":["#, "]}}", &|id| format!("\"{id}\"")),
    ] {
        let read = |body: String| {
            let request = Request { method: "POST", url: URL, headers: &[], body: body.as_bytes() };
            match admit_unsigned(find(name).unwrap(), &request) {
                Ok(Admitted::Events { events, .. }) => (events, body),
                other => panic!("{name}: {other:?}"),
            }
        };
        let (alone, body) = read(format!("{before}{}{after}", item("a")));
        let (batch, _) = read(format!("{before}{},{}{after}", item("a"), item("b")));
        assert_eq!((alone.len(), batch.len()), (1, 2), "{name}");
        assert_eq!((&alone[0].key, &alone[0].part), (&batch[0].key, &None), "{name}");
        assert_ne!(batch[0].key, batch[1].key, "{name}");
        let Some(Part::Bytes(part)) = &batch[0].part else { panic!("{name}: no part") };
        let volatile = batch[0].volatile;
        let whole = json::canonical(body.as_bytes(), volatile);
        assert!(whole.is_some() && json::canonical(part, volatile) == whole, "{name}: {body}");
    }
}

#[test]
fn a_batch_is_bounded_in_its_events_and_in_what_is_repeated_around_them() {
    let read = |name: &str, body: String| {
        let request = Request { method: "POST", url: URL, headers: &[], body: body.as_bytes() };
        admit_unsigned(find(name).unwrap(), &request).map(|_| ())
    };
    let long = "x".repeat(1_100);
    let many = |item: &str, count: usize| vec![item; count].join(",");
    for (name, body, fault) in [
        ("meta", format!(r#"{{"object":"{long}","entry":[{{"id":"1"}}]}}"#), "too long"),
        ("x_twitter", format!(r#"{{"for_user_id":"{long}","a":[{{}}]}}"#), "too long"),
        (
            "quickbooks",
            format!(
                r#"{{"eventNotifications":[{{"realmId":"{long}","dataChangeEvent":{{"entities":[{{
                }}]}}}}]}}"#
            ),
            "too long",
        ),
        (
            "meta",
            format!(
                r#"{{"entry":[{}]}}"#,
                many(&format!(r#"{{"changes":[{}]}}"#, many("{}", 6_000)), 2)
            ),
            "10000",
        ),
        (
            "x_twitter",
            format!(r#"{{"a":[{}],"b":[{}]}}"#, many("{}", 6_000), many("{}", 6_000)),
            "10000",
        ),
        ("auth0", many("{\"log_id\":\"1\"}\n", 10_001).replace(',', ""), "10000"),
    ] {
        let outcome = read(name, body);
        let told = outcome.as_ref().is_err_and(|found| found.to_string().contains(fault));
        assert!(told, "{name}: {outcome:?}");
    }
}

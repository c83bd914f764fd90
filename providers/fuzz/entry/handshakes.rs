//! Handshakes before any proof. Whatever a stranger asks, no answer may hold a value that passes
//! for this source's signature over an event of the stranger's choice, and none tells a secret.

use arbitrary::{Result, Unstructured};
use providers::{Coverage, Draft, Handshaking, Provider, Reply, Request, Secret, Window};

use super::bend::{bend, text};
use super::held::small;
use super::senders::{SENDERS, Sender};
use crate::case::Case;

const NOW_S: i64 = 1_767_225_600;
const SECRET: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
const URL: &str = "https://hooks.example.com/hooks/source";

/// A stranger's question to a source that has a secret.
pub fn handshake(data: &[u8]) {
    let _ = asked(&mut Unstructured::new(data));
}

fn asked(input: &mut Unstructured<'_>) -> Result<()> {
    let shaking: Vec<&Sender> = SENDERS.iter().filter(|sender| sender.shakes_hands).collect();
    let sender = match input.ratio(7_u8, 8_u8)? {
        true => *input.choose(&shaking)?,
        false => input.choose(&SENDERS)?,
    };
    let event = event(input, sender)?;
    let wanted = match input.int_in_range(0..=5)? {
        0 => format!("v0:{NOW_S}:{event}"),
        1 => format!("{NOW_S}.{event}"),
        2 => format!("{NOW_S}{event}"),
        3 => format!("{event}{NOW_S}"),
        4 => hex::encode(event.as_bytes().get(..16).unwrap_or(b"token")),
        _ => event.clone(),
    };
    let mut case = question(input, &wanted)?;
    let bends = *input.choose(&[0, 0, 0, 1, 2, 3])?;
    for _ in 0..bends {
        bend(input, sender, &mut case)?;
    }
    let secret = Secret::new(SECRET).into_iter();
    case.secrets = secret.clone().chain(case.secrets).collect();
    let token = Secret::new("token");
    let (pending, verify_token) = (input.arbitrary()?, token.as_ref());
    let at = Handshaking { secrets: &case.secrets[..1], verify_token, pending };
    let answer = case.run(|request, _| sender.provider.handshake(request, &at));
    let Some(handshake) = answer else { return Ok(()) };
    case.secrets.truncate(1);
    small(&case, &handshake.reply);
    assert!(pending || handshake.plants.is_none(), "a secret is planted at any time");
    for body in [&event, &wanted] {
        no_oracle(sender.provider, &sender.kind, body, &handshake.reply);
    }
    Ok(())
}

/// What the stranger would like to have signed: an event of the sender's own form, or any text.
fn event(input: &mut Unstructured<'_>, sender: &Sender) -> Result<String> {
    if input.ratio(1_u8, 3_u8)? {
        return text(input);
    }
    let draft = Draft { kind: &sender.kind, key: "forged", body: None, now_s: NOW_S, url: URL };
    let signed = Secret::new("of a stranger:x").and_then(|it| sender.provider.sign(&draft, &it));
    let body = signed.map(|signed| signed.body).unwrap_or_default();
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Every question that some sender asks before a proof, with the same text wherever a token goes.
fn question(input: &mut Unstructured<'_>, token: &str) -> Result<Case> {
    let escaped: String = token.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let names = ["crc_token", "challenge", "hub.challenge", "bt_challenge", "validationToken"];
    let query: Vec<String> = names.iter().map(|name| format!("{name}={escaped}")).collect();
    let url = format!("{URL}?hub.mode=subscribe&hub.verify_token=token&{}", query.join("&"));
    let quoted = serde_json::Value::from(token);
    let body = match input.int_in_range(0..=6)? {
        0 => token.to_owned(),
        1 => serde_json::json!({ "event": "endpoint.url_validation",
            "payload": { "plainToken": quoted } })
        .to_string(),
        2 => serde_json::json!({ "type": "url_verification", "challenge": quoted }).to_string(),
        3 => serde_json::json!({ "verification_token": quoted }).to_string(),
        4 => format!("webhook_id={token}"),
        5 => serde_json::json!([{ "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent",
            "data": { "validationCode": quoted } }])
        .to_string(),
        _ => String::new(),
    };
    let methods = ["GET", "POST", "HEAD", "OPTIONS"];
    let mut case = Case::new(input.choose(&methods)?, Some(&url), &[], &body, &[], NOW_S);
    let names = ["x-hook-secret", "x-okta-verification-challenge", "webhook-request-origin"];
    let names = names.iter().chain(&["aeg-event-type"]);
    case.headers = names.map(|name| ((*name).to_owned(), token.as_bytes().to_vec())).collect();
    Ok(case)
}

/// Puts every value of an answer where the signature goes in a request of the stranger's own.
fn no_oracle(provider: &dyn Provider, kind: &str, body: &str, reply: &Reply) {
    let draft = Draft { kind, key: "forged", body: Some(body.as_bytes()), now_s: NOW_S, url: URL };
    let sign = |text: &str| provider.sign(&draft, &Secret::new(text)?);
    let (Some(one), Some(other)) = (sign("of a stranger:x"), sign("of another:y")) else { return };
    let Some(secret) = Secret::new(SECRET) else { return };
    let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
    let signed: Vec<(String, String)> = one.headers.iter().map(lower).collect();
    for (index, (_, value)) in signed.iter().enumerate() {
        if other.headers.get(index).is_none_or(|(_, other)| other == value) {
            continue;
        }
        for forged in values(reply).iter().flat_map(|value_| placed(value, value_)) {
            let mut headers = signed.clone();
            headers[index].1 = forged;
            let headers: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            for body in [&one.body[..], body.as_bytes()] {
                let request = Request { method: "POST", url: URL, headers: &headers, body };
                let window = Window { now_s: NOW_S, tolerance_s: 300 };
                let proved = provider.verify(&request, &secret, window);
                let covered = proved.is_ok_and(|proved| proved.coverage() == Coverage::Body);
                assert!(!covered, "{}: it signs {body:?} for a stranger", provider.name());
            }
        }
    }
}

/// The values of an answer that are long enough for a signature.
fn values(reply: &Reply) -> Vec<String> {
    let texts = reply.headers.iter().map(|(_, value)| value.clone());
    let texts = texts.chain([String::from_utf8_lossy(&reply.body).into_owned()]);
    let edges = |letter: char| !letter.is_ascii_alphanumeric() && !"+/=_-".contains(letter);
    let mut values: Vec<String> = Vec::new();
    for text in texts {
        for word in text.split(edges).filter(|word| word.len() >= 20) {
            let bare = word.split_once('=').map_or("", |(_, bare)| bare);
            values
                .extend([word, bare].iter().filter(|it| it.len() >= 20).map(|it| (*it).to_owned()));
        }
    }
    values
}

/// A header value with its signature replaced, wherever that may begin in it.
fn placed(value: &str, signature: &str) -> Vec<String> {
    let begins = value.char_indices().filter(|(_, letter)| "=, ".contains(*letter));
    let begins = std::iter::once(0).chain(begins.map(|(at, _)| at + 1));
    begins.map(|at| format!("{}{signature}", &value[..at])).collect()
}

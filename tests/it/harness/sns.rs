//! Signs as Amazon SNS does, under a certificate of the tests' own, which nobody else trusts.

use super::wire::Request;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

/// The topic, which is the secret of the source.
pub const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:orders";
/// Where the certificate is said to be.
pub const CERTIFICATE_URL: &str = "https://sns.eu-west-1.amazonaws.com/of-the-tests.pem";
/// The certificate, valid for a hundred years.
pub const CERTIFICATE: &str = include_str!("sns/certificate.pem");

/// The key of the certificate. It is good for nothing else, so that it may lie here.
const KEY: &[u8] = include_bytes!("sns/key.der");

/// A message with an id and these further fields, signed now.
pub fn sns(id: &str, kind: &str, more: Value) -> Request {
    let mut message = json!({
        "Type": kind,
        "MessageId": id,
        "TopicArn": TOPIC,
        "Message": "hello",
        "Timestamp": jiff::Timestamp::from_second(super::now()).expect("a date").to_string(),
        "SignatureVersion": "2",
        "SigningCertURL": CERTIFICATE_URL,
    });
    let fields = more.as_object().expect("fields").clone();
    message.as_object_mut().expect("fields").extend(fields);
    let signed: &[&str] = match kind {
        "Notification" => &["Message", "MessageId", "Timestamp", "TopicArn", "Type"],
        _ => &["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
    };
    let value = |name: &str| message[name].as_str().expect("a text").to_owned();
    let text: String = signed.iter().map(|name| format!("{name}\n{}\n", value(name))).collect();
    let key = RsaKeyPair::from_pkcs8(KEY).expect("the key is read");
    let mut signature = vec![0; key.public().modulus_len()];
    let random = SystemRandom::new();
    key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).expect("it signs");
    message["Signature"] = BASE64_STANDARD.encode(signature).into();
    Request::post(message.to_string())
        .header("Content-Type", "text/plain; charset=UTF-8")
        .header("x-amz-sns-message-type", kind)
}

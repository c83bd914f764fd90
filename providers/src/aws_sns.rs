//! Amazon SNS: an RSA signature over fields of the body, in the body, under a certificate that the
//! body names. It proves some AWS customer, so the secret is the ARN of the one topic that is
//! meant. `verify` reads those fields of the body only.
//!
//! Source: docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages";
//! aws-sdk-ruby and aws-js-sns-message-validator.

mod message;

use self::message::{FACTS, Field, Message};
use crate::sign::{self, Certified, Coverage, Encoding, Hash, Stamp};
use crate::{
    Event, Facts, KeyWanted, Keys, NoKeys, Proved, Provider, Rejection, Request, Secret, Verified,
    Visit, Window,
};

/// Subscriptions of topics in Amazon SNS, without raw message delivery, which is not signed.
pub(crate) struct AwsSns;

/// Exactly these: other names under amazonaws.com are for anyone to rent. The second is China.
const HOSTS: &[&str] = &["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn"];

/// Retries go on for up to an hour and are not signed anew. Meanwhile the signed id keeps a
/// recorded request from counting twice.
const RETRIES_S: i64 = 2 * 3600;

impl Provider for AwsSns {
    fn name(&self) -> &'static str {
        "aws_sns"
    }

    fn facts(&self) -> Facts {
        FACTS
    }

    /// All that is published is covered, but neither the message's attributes nor the links.
    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            "x-amz-sns-message-type",
            "x-amz-sns-message-id",
            "x-amz-sns-topic-arn",
            "x-amz-sns-subscription-arn",
        ]
    }

    fn horizon_days(&self) -> u32 {
        // Some 50 tries within 20 minutes; a policy may stretch them to an hour.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(15_000)
    }

    fn secret_fault(&self, secret: &Secret) -> Option<String> {
        let is_topic = secret.expose().starts_with("arn:aws");
        (!is_topic).then(|| "is not the ARN of a topic: arn:aws:sns:...".to_owned())
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, window: Window) -> Verified<'r> {
        self.verify_with_keys(request, secret, window, &NoKeys)
    }

    fn verify_with_keys<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
        keys: &dyn Keys,
    ) -> Verified<'r> {
        let message = Message::read(request.body)
            .ok_or(Rejection::ProofMissing("the body is not a message of SNS"))?;
        let text = |field, fault| message.text(field).ok_or(Rejection::ProofMissing(fault));
        let claim = text(Field::Signature, "the message has no Signature; is delivery raw?")?;
        let claim = Encoding::Base64.read(claim.as_bytes());
        let claim = claim.ok_or(Rejection::ProofMalformed("the Signature is not base64"))?;
        let hash = match message.text(Field::SignatureVersion) {
            Some("1") => Hash::Sha1,
            Some("2") => Hash::Sha256,
            _ => return Err(Rejection::ProofMalformed("the SignatureVersion is not known")),
        };
        let url = text(Field::SigningCertUrl, "the message has no SigningCertURL")?;
        let wanted = KeyWanted::document(url, HOSTS).filter(|_| url.ends_with(".pem"));
        let wanted = wanted.ok_or(Rejection::ProofMalformed("the certificate is not of SNS"))?;
        let time = text(Field::Timestamp, "the message has no Timestamp")?;
        let stamp = Stamp::date_within_proof(time.as_bytes())?;
        let parts = message.signed()?;
        // Before anything is fetched: a stranger's topic is not worth it.
        let topic = message.text(Field::TopicArn).unwrap_or_default();
        sign::prove_token(request, secret.expose().as_bytes(), topic.as_bytes())?;
        let text = keys.get(&wanted).ok_or(Rejection::KeyWanted(wanted))?;
        let certificate =
            Certified::from_pem(text).ok_or(Rejection::KeyUnusable("it is not a certificate"))?;
        let proved = sign::prove_public(request, &certificate.key, hash, &parts, &claim)?
            .within(stamp, window.at_least(RETRIES_S))?;
        certificate.current(window)?;
        Ok(proved)
    }

    /// A request to confirm is an event as well: what was confirmed must be found later.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let message = Message::read(proved.body());
        let message = message.ok_or(Rejection::Unreadable("the body is not a message of SNS"))?;
        Ok(vec![message.event()?])
    }

    /// The link is signed, and so is the topic that it is of. That of an `UnsubscribeConfirmation`,
    /// which would subscribe again, is the operator's to visit.
    fn visit(&self, proved: &Proved<'_>) -> Option<Visit> {
        let message = Message::read(proved.body())?;
        let is_wanted = message.text(Field::Type) == Some("SubscriptionConfirmation");
        let url = message.text(Field::SubscribeUrl).filter(|_| is_wanted)?;
        Some(Visit { url: url.to_owned(), hosts: HOSTS })
    }
}

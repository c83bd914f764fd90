//! Signs what is sent by the Standard Webhooks scheme, for destinations that share a secret.
//!
//! It never verifies anything: proving what *arrives* is the crate `providers`.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use providers::Secret;
use sha2::Sha256;

/// Secrets are handed around with and without padding; both are the same key.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A key ready to sign.
pub(super) struct Signer(Hmac<Sha256>);

impl Signer {
    /// Takes `whsec_` and base64, the form that Standard Webhooks gives secrets.
    pub(super) fn new(secret: &Secret) -> Result<Self, String> {
        let text = secret.expose();
        let key = LENIENT.decode(text.strip_prefix("whsec_").unwrap_or(text)).ok();
        let key = key.filter(|key| !key.is_empty());
        let key = key.ok_or("sign_with must be `whsec_` followed by base64")?;
        let mac = Hmac::new_from_slice(&key).map_err(|error| error.to_string())?;
        Ok(Self(mac))
    }

    /// The value of `webhook-signature` for an id, a time in seconds since 1970 and a body.
    pub(super) fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(format!("{id}.{timestamp_s}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_comes_out() {
        // https://github.com/standard-webhooks/standard-webhooks, test data of its libraries
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signature =
            Signer::new(&secret).unwrap().sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_of_another_form_is_refused_without_being_shown() {
        for text in ["whsec_", "whsec_not base64"] {
            let fault = Signer::new(&Secret::new(text).unwrap()).err().unwrap();
            assert_eq!(fault, "sign_with must be `whsec_` followed by base64");
        }
    }
}

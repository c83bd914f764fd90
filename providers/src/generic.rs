//! Senders that are described by configuration alone, such as home-made ones: a signature
//! ([`hmac`]) or a shared token ([`token`]), and where key, kind, entity and time stand.
//!
//! A place is `header:x-request-id` or `json:/data/id`; the key may also be `digest`, the SHA-256
//! of the body without its volatile fields. The names read from a configuration are kept for as
//! long as the process lives, as the trait hands out names without a lifetime: some bytes per load.

use crate::{Facts, Provider};

mod hmac;
mod place;
mod places;
mod settings;
mod template;
mod token;

pub use settings::{EventSettings, HmacSettings, SecretForm, TokenSettings};

/// A sender that signs with an HMAC; the fault names the setting that is wrong.
pub fn hmac(settings: HmacSettings) -> Result<Box<dyn Provider>, String> {
    Ok(Box::new(hmac::GenericHmac::new(settings)?))
}

/// A sender that shows a shared token; the fault names the setting that is wrong.
pub fn token(settings: TokenSettings) -> Result<Box<dyn Provider>, String> {
    Ok(Box::new(token::GenericToken::new(settings)?))
}

/// What is told of a sender that only the configuration knows.
const fn configured(title: &'static str, proof: &'static str) -> Facts {
    let set = "as configured";
    Facts { title, proof, key: set, entity: set, position: set }
}

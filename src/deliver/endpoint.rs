//! An HTTP endpoint for messages of our own, such as alarms, under the rules of a destination: no
//! redirects, no private addresses unless allowed, bounded in time.
//!
//! Never sends a delivery, and never sends twice.

use super::{bounded, headers, http::Http};
use crate::delivery::Micros;
use crate::job::Outcome;
use crate::source::HttpDestination;
use bytes::Bytes;

/// An endpoint ready to be called.
pub struct Endpoint(Http);

impl Endpoint {
    /// Checks the settings; the text says what is wrong with them and has no secret in it.
    pub fn new(settings: &HttpDestination) -> Result<Self, String> {
        Http::new(settings).map(Self)
    }

    /// Posts a JSON text once. The key is the same for every try of one message.
    pub async fn post(&self, idempotency_key: &str, json: Bytes, now_us: Micros) -> Outcome {
        let headers = headers::of_our_own(idempotency_key, self.0.extra());
        bounded(self.0.send(headers, &json, now_us).await)
    }
}

//! PayPal: an RSA signature over the transmission's id and time, the id of the webhook and the
//! CRC-32 of the body, under a certificate that a header names. The secret is the webhook's id.
//! A CRC-32 shows accidents and no attack, so the proof does not count as one of the content.
//!
//! Source: developer.paypal.com, "Verify webhook signature"; PayPal-Python-SDK, notifications.

use crate::sign::{self, Certified, Coverage, Encoding, Hash};
use crate::text::{Unit, time_us};
use crate::{
    Event, Facts, KeyWanted, Keys, NoKeys, Position, Proved, Provider, Rejection, Request, Secret,
    Verified, Window, identity, json,
};

/// Webhooks of a PayPal app.
pub(crate) struct PayPal;

/// Certificates are at these hosts, below this path; others of paypal.com show what users write.
const HOSTS: &[&str] =
    &["api.paypal.com", "api.sandbox.paypal.com", "api-m.paypal.com", "api-m.sandbox.paypal.com"];
const PATH: &str = "/v1/notifications/certs/";

const CERTIFICATE: &str = "paypal-cert-url";
const ALGORITHM: &str = "paypal-auth-algo";

impl Provider for PayPal {
    fn name(&self) -> &'static str {
        "paypal"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "PayPal",
            proof: "RSA-SHA256 over ids, time and the body's CRC-32, key by URL",
            key: "`/id`",
            entity: "the order, else `/resource/id`",
            position: "`/resource/update_time`, `/create_time`",
        }
    }

    fn coverage(&self) -> Coverage {
        Coverage::Sender
    }

    fn horizon_days(&self) -> u32 {
        // Retried for 3 days; resends by API reach back about 30.
        35
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
        let claim = sign::claimed(request, "paypal-transmission-sig", "", Encoding::Base64)?;
        let id = request.header("paypal-transmission-id")?;
        let time = request.header("paypal-transmission-time")?;
        if request.header(ALGORITHM)? != b"SHA256withRSA" {
            return Err(Rejection::HeaderMalformed(ALGORITHM, "expected SHA256withRSA"));
        }
        let url = std::str::from_utf8(request.header(CERTIFICATE)?).unwrap_or_default();
        let below = |host| url.starts_with(&format!("https://{host}{PATH}"));
        let wanted = KeyWanted::document(url, HOSTS).filter(|_| HOSTS.iter().any(below));
        let wanted = wanted
            .ok_or(Rejection::HeaderMalformed(CERTIFICATE, "it is not at PayPal's certificates"))?;
        let text = keys.get(&wanted).ok_or(Rejection::KeyWanted(wanted))?;
        let certificate =
            Certified::from_pem(text).ok_or(Rejection::KeyUnusable("it is not a certificate"))?;
        let checksum = crc32fast::hash(request.body).to_string();
        let parts = [id, b"|", time, b"|", secret.expose().as_bytes(), b"|", checksum.as_bytes()];
        let proved = sign::prove_public(request, &certificate.key, Hash::Sha256, &parts, &claim)?;
        certificate.current(window)?;
        Ok(proved)
    }

    /// The key is the event's own id: a resend carries it again, in another transmission.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let pointers = [
            "/id",
            "/event_type",
            "/resource/supplementary_data/related_ids/order_id",
            "/resource/id",
            "/resource/update_time",
            "/create_time",
        ];
        let fields = json::fields(proved.body(), pointers)?;
        let [id, kind, order, resource, updated, created] = json::texts(&fields);
        let id = id.ok_or(Rejection::Unreadable("the body has no event id at /id"))?;
        let at = [updated, created].into_iter().flatten();
        Ok(vec![Event {
            key: identity::key(id.as_bytes())?,
            kind: identity::kind(&[kind.unwrap_or_default()]),
            entity: identity::entity(&[order.or(resource)]),
            position: Position::at(at.into_iter().find_map(|at| time_us(at, Unit::Seconds))),
            volatile: &[],
            part: None,
        }])
    }
}

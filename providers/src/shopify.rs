//! Shopify: an HMAC over the raw body in base64. The newer "events" webhooks use the same headers
//! without `X-`. Neither carries a signed time, so only the key stops a repeat.
//!
//! Source: shopify.dev, "Verify webhook deliveries"; Shopify/shopify-app-js.

mod headers;

use self::headers::{FORWARDED, ID, SHOP, SIGNATURE, TOPIC, TRIGGERED_AT, family};
use crate::sign::{self, Encoding, Hash};
use crate::text::{Unit, date_us, time_us};
use crate::{
    Draft, Event, Facts, Position, Proved, Provider, Rejection, Request, Secret, Signed, Verified,
    Window,
};
use crate::{example, identity, json};

/// Shops and apps of Shopify.
pub(crate) struct Shopify;

impl Provider for Shopify {
    fn name(&self) -> &'static str {
        "shopify"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "Shopify",
            proof: "HMAC-SHA256 base64",
            key: "`X-Shopify-Webhook-Id`",
            entity: "shop and resource",
            position: "`/updated_at`, else triggered-at",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        FORWARDED
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; this leaves room for orders and products with many lines.
        8 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Retried 8 times over 4 hours, then given up.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(5_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        let header = SIGNATURE[family(request)?];
        let claim = sign::claimed(request, header, "", Encoding::Base64)?;
        let key = secret.expose().as_bytes();
        sign::prove_hmac(request, Hash::Sha256, key, &[request.body], &[claim])
    }

    /// The key is the webhook id, kept over retries. The event id is not one: it is shared by
    /// every topic and subscription that the same action of a merchant sets off.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let family = family(request).unwrap_or_default();
        let key = identity::header_key(request, ID[family])?;
        let [topic, shop, triggered_at] =
            [TOPIC, SHOP, TRIGGERED_AT].map(|names| identity::header_text(request, names[family]));
        let pointers = ["/admin_graphql_api_id", "/id", "/order_edit/order_id", "/updated_at"];
        let fields = json::fields(request.body, pointers).unwrap_or_default();
        let [global_id, id, order, updated_at] = json::texts(&fields);
        // A plain id is unique among its own resource only, which begins the topic.
        let resource = topic.split('/').next().unwrap_or_default();
        let id = id.map(|id| format!("{resource}:{id}"));
        let id = id.or_else(|| order.map(|order| format!("gid://shopify/Order/{order}")));
        let updated_at = updated_at.and_then(|at| time_us(at, Unit::Seconds));
        let occurred_at_us = updated_at.or_else(|| date_us(&triggered_at));
        Ok(vec![Event {
            key,
            kind: identity::kind(&[&topic]),
            entity: identity::entity(&[Some(&shop), global_id.or(id.as_deref())]),
            position: Position::at(occurred_at_us),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let body = draft.body.map_or_else(|| example::shopify(draft.kind), <[u8]>::to_vec);
        let tag = sign::hmac(Hash::Sha256, secret.expose().as_bytes(), &[&body])?;
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Shopify-Topic", draft.kind),
            ("X-Shopify-Shop-Domain", "example.myshopify.com"),
            ("X-Shopify-Webhook-Id", draft.key),
            ("X-Shopify-Hmac-Sha256", &Encoding::Base64.write(&tag)),
        ];
        Some(Signed { headers: example::headers(&headers), body })
    }
}

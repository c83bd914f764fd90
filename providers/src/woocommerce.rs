//! WooCommerce: an HMAC over the raw body in base64. The shop keeps its secret as HTML and decodes
//! it before it signs, so the same is done here. When a webhook is saved the shop posts an unsigned
//! `webhook_id=5` and wants exactly 200 for it.
//!
//! Source: woocommerce/woocommerce, includes/class-wc-webhook.php; WordPress,
//! `wp_specialchars_decode`.

mod entities;

use self::entities::decoded;
use crate::body_tag::BodyTag;
use crate::sign::Encoding;
use crate::text::utc_date_us;
use crate::{
    Draft, Event, Facts, Handshake, Handshaking, Position, Proved, Provider, Rejection, Reply,
    Request, Secret, Signed, Verified, Window,
};
use crate::{example, identity, json};

/// Shops of WooCommerce.
pub(crate) struct WooCommerce;

const TAG: BodyTag = BodyTag::new("x-wc-webhook-signature", "", Encoding::Base64);

impl Provider for WooCommerce {
    fn name(&self) -> &'static str {
        "woocommerce"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "WooCommerce",
            proof: "HMAC-SHA256 base64, HTML-decoded secret",
            key: "a digest of `X-WC-Webhook-Delivery-ID` and body",
            entity: "shop and resource",
            position: "`/date_modified_gmt` (1 s)",
        }
    }

    fn forwarded(&self) -> &'static [&'static str] {
        &[
            "x-wc-webhook-source",
            "x-wc-webhook-topic",
            "x-wc-webhook-resource",
            "x-wc-webhook-event",
            "x-wc-webhook-id",
            "x-wc-webhook-delivery-id",
        ]
    }

    fn body_bytes_max(&self) -> usize {
        // No limit is published; this leaves room for orders with many lines.
        8 << 20
    }

    fn horizon_days(&self) -> u32 {
        // Nothing is retried.
        2
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(60_000)
    }

    /// The ping says nothing and is given nothing but the status, so anyone may have it.
    fn handshake(&self, request: &Request<'_>, _: &Handshaking<'_>) -> Option<Handshake> {
        let id = request.body.strip_prefix(b"webhook_id=")?;
        let number = (1..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit);
        let signed = TAG.is_in(request);
        let ping = request.method == "POST" && number && !signed;
        ping.then(|| Handshake::answer(Reply::empty(200))).flatten()
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, decoded(secret.expose()).as_bytes())
    }

    /// The delivery id is a hash of the webhook and the current second, so two events of one
    /// second share it; the body tells them apart.
    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let request = proved.request();
        let id = identity::header_key(request, "x-wc-webhook-delivery-id")?;
        let [topic, shop, resource] =
            ["x-wc-webhook-topic", "x-wc-webhook-source", "x-wc-webhook-resource"]
                .map(|name| identity::header_text(request, name));
        let fields = json::fields(request.body, ["/id", "/date_modified_gmt"]).unwrap_or_default();
        let [object, at] = json::texts(&fields);
        let own = object.map_or(resource.clone(), |id| format!("{resource}:{id}"));
        let entity = identity::entity(&[Some(&shop), Some(&own)]);
        Ok(vec![Event {
            key: identity::digest(&[id.as_bytes(), request.body]),
            kind: identity::kind(&[&topic]),
            entity: entity.or_else(|| identity::entity(&[Some(&own)])),
            position: Position::at(at.and_then(utc_date_us)),
            volatile: &[],
            part: None,
        }])
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            let at = example::date(draft.now_s).replace('Z', "");
            example::written(serde_json::json!({ "id": 727, "date_modified_gmt": at }))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let (resource, event) = draft.kind.split_once('.').unwrap_or((draft.kind, "updated"));
        let others = [
            ("X-WC-Webhook-Source", "https://shop.example.com/"),
            ("X-WC-Webhook-Topic", draft.kind),
            ("X-WC-Webhook-Resource", resource),
            ("X-WC-Webhook-Event", event),
            ("X-WC-Webhook-ID", "5"),
            ("X-WC-Webhook-Delivery-ID", draft.key),
        ];
        TAG.sign(decoded(secret.expose()).as_bytes(), body, &others)
    }
}

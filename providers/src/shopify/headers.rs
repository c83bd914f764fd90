//! The headers of Shopify, in its two families: with `X-` before them and without.

use crate::{Rejection, Request};

/// The names of one header in both families.
pub(super) type Names = [&'static str; 2];

pub(super) const SIGNATURE: Names = ["x-shopify-hmac-sha256", "shopify-hmac-sha256"];
pub(super) const ID: Names = ["x-shopify-webhook-id", "shopify-webhook-id"];
pub(super) const TOPIC: Names = ["x-shopify-topic", "shopify-topic"];
pub(super) const SHOP: Names = ["x-shopify-shop-domain", "shopify-shop-domain"];
pub(super) const TRIGGERED_AT: Names = ["x-shopify-triggered-at", "shopify-triggered-at"];

/// 0 for a request of the family with `X-`, 1 for the other.
pub(super) fn family(request: &Request<'_>) -> Result<usize, Rejection> {
    let old = request.header_if_present(SIGNATURE[0])?.is_some();
    Ok(usize::from(!old && request.header_if_present(SIGNATURE[1])?.is_some()))
}

pub(super) const FORWARDED: &[&str] = &[
    "x-shopify-topic",
    "x-shopify-shop-domain",
    "x-shopify-api-version",
    "x-shopify-webhook-id",
    "x-shopify-event-id",
    "x-shopify-triggered-at",
    "shopify-topic",
    "shopify-shop-domain",
    "shopify-api-version",
    "shopify-webhook-id",
    "shopify-event-id",
    "shopify-triggered-at",
];

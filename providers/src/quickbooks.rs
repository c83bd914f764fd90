//! QuickBooks Online: an HMAC over the raw body in base64, around a batch of changes. Intuit is
//! moving from a form of its own to a list of CloudEvents; both are read, into the same lanes.
//!
//! Source: developer.intuit.com, "Webhooks", and the release notes of quickbooks-v3-php-sdk.

mod change;

use crate::body_tag::BodyTag;
use crate::json::{self, Item, ItemsFault};
use crate::sign::Encoding;
use crate::{
    Draft, Event, Facts, Proved, Provider, Rejection, Request, Secret, Signed, Verified, Window,
};
use crate::{batch, example};

/// Apps of QuickBooks Online.
pub(crate) struct QuickBooks;

const TAG: BodyTag = BodyTag::new("intuit-signature", "", Encoding::Base64);

impl Provider for QuickBooks {
    fn name(&self) -> &'static str {
        "quickbooks"
    }

    fn facts(&self) -> Facts {
        Facts {
            title: "QuickBooks Online",
            proof: "HMAC-SHA256 base64",
            key: "`/*/id`; in the older form a digest of the change",
            entity: "company and object",
            position: "`/*/time`; `lastUpdated`",
        }
    }

    fn horizon_days(&self) -> u32 {
        // Retried every 6 hours without a published end; later events wait behind.
        10
    }

    fn answer_deadline_ms(&self) -> Option<u32> {
        Some(3_000)
    }

    fn verify<'r>(&self, request: &Request<'r>, secret: &Secret, _: Window) -> Verified<'r> {
        TAG.verify(request, secret.expose().as_bytes())
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let body = proved.body();
        match json::items(body, "") {
            Ok(items) => return items.iter().map(change::cloud_event).collect(),
            Err(ItemsFault::NoArray) => {}
            Err(fault) => return Err(fault.into()),
        }
        let companies = match json::items(body, "/eventNotifications") {
            // Neither list: one CloudEvent by itself.
            Err(ItemsFault::NoArray) => {
                let alone = Item { range: 0..body.len(), json: body };
                return Ok(vec![change::cloud_event(&alone)?]);
            }
            found => found?,
        };
        let mut events = Vec::new();
        for company in companies {
            let realm = json::fields(company.json, ["/realmId"])?;
            for item in company.items("/dataChangeEvent/entities")? {
                events.push(change::entity(realm[0].as_ref(), &item)?);
            }
            batch::bounded(&events)?;
        }
        Ok(batch::unless_alone(events))
    }

    fn sign(&self, draft: &Draft<'_>, secret: &Secret) -> Option<Signed> {
        let sample = || {
            example::written(serde_json::json!([{ "specversion": "1.0", "id": draft.key,
                "source": "intuit.dsnBgbseACLLRZNxo2dfc4evmEJdxde58xeeYcZliOU=",
                "type": draft.kind, "datacontenttype": "application/json",
                "time": example::date(draft.now_s), "intuitentityid": "1234",
                "intuitaccountid": "310687", "data": {} }]))
        };
        let body = draft.body.map_or_else(sample, <[u8]>::to_vec);
        let body = json::with_text(&body, "/0/id", draft.key).unwrap_or(body);
        TAG.sign(secret.expose().as_bytes(), body, &[])
    }
}

//! One notification of Microsoft Graph: of a change, or of the subscription's own life.

use crate::{Draft, Event, Facts, Part, Position, Rejection, example, identity, json};

pub(super) const FACTS: Facts = Facts {
    title: "Microsoft Graph",
    proof: "`clientState` in the clear, in every notification",
    key: "`/value/*/id`, else a digest of subscription, resource, change and tag",
    entity: "`/value/*/resourceData/id`, else the resource",
    position: "unknown",
};

#[rustfmt::skip]
const FIELDS: [&str; 8] = [
    "/id", "/lifecycleEvent", "/changeType", "/resourceData/@odata.type", "/resourceData/id",
    "/resource", "/subscriptionId", "/resourceData/@odata.etag",
];

/// The key is the notification's id. Where there is none, subscription, resource, change and tag
/// tell it apart; a notification of the subscription's own life has none of these.
pub(super) fn notification(item: json::Item<'_>) -> Result<Event, Rejection> {
    let fields = json::fields(item.json, FIELDS)?;
    let [id, life, change, kind, about, resource, subscription, tag] = json::texts(&fields);
    let parts = [subscription, about.or(resource), change, tag];
    let key = match (id, change) {
        (Some(id), _) => identity::key(id.as_bytes())?,
        (None, Some(_)) => identity::digest(&parts.map(|part| part.unwrap_or_default().as_bytes())),
        (None, None) => identity::digest(&[item.json]),
    };
    let kind = kind.unwrap_or_default().rsplit('.').next().unwrap_or_default();
    Ok(Event {
        key,
        kind: match life {
            Some(life) => identity::kind(&["lifecycle", life]),
            None => identity::kind(&[kind, change.unwrap_or_default()]),
        },
        entity: identity::entity(&[about.or(resource).or(subscription)]),
        position: Position::default(),
        volatile: &[],
        part: Some(Part::Slice(item.range)),
    })
}

/// A change of a message, unless the draft says otherwise.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let (kind, change) = draft.kind.split_once('.').unwrap_or(("Message", draft.kind));
    let data = serde_json::json!({
        "@odata.type": format!("#Microsoft.Graph.{kind}"), "id": "example",
    });
    example::written(serde_json::json!({ "value": [{
        "subscriptionId": "example", "changeType": change,
        "resource": "users/example/messages/example", "resourceData": data,
    }] }))
}

//! One change of an object of a company, in either form.

use crate::json::{self, Item, Scalar};
use crate::text::{Unit, time_us};
use crate::{Event, Part, Position, Rejection, batch, identity};

/// A lane for both forms: `Invoice` in one is `qbo.invoice.updated.v1` in the other.
fn lane(company: Option<&str>, name: Option<&str>, id: Option<&str>) -> Option<String> {
    let object = name.zip(id).map(|(name, id)| format!("{}:{id}", name.to_ascii_lowercase()));
    identity::entity(&[company, object.as_deref()]).or_else(|| identity::entity(&[company]))
}

/// A CloudEvent. Its key is its own id.
pub(super) fn cloud_event(item: &Item<'_>) -> Result<Event, Rejection> {
    let pointers = ["/id", "/type", "/time", "/intuitaccountid", "/intuitentityid"];
    let fields = json::fields(item.json, pointers)?;
    let [id, kind, at, company, object] = json::texts(&fields);
    let kind = kind.unwrap_or_default();
    Ok(Event {
        key: identity::key(id.unwrap_or_default().as_bytes())?,
        kind: identity::kind(&[kind]),
        entity: lane(company, kind.split('.').nth(1), object),
        position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
        volatile: &[],
        part: Some(Part::Slice(item.range.clone())),
    })
}

/// A change in the older form, which has no id: its key is a digest of company, object, operation
/// and time. By itself it does not name its company, so the part repeats the form around it.
pub(super) fn entity(realm: Option<&Scalar<'_>>, item: &Item<'_>) -> Result<Event, Rejection> {
    let fields = json::fields(item.json, ["/name", "/id", "/operation", "/lastUpdated"])?;
    let [name, id, operation, at] = json::texts(&fields);
    let company = realm.map(Scalar::as_str);
    let realm = batch::written(realm);
    let before =
        format!(r#"{{"eventNotifications":[{{"realmId":{realm},"dataChangeEvent":{{"entities":["#);
    Ok(Event {
        key: identity::content_digest(&[company.unwrap_or_default()], item.json, &[]),
        kind: identity::kind(&[name.unwrap_or_default(), operation.unwrap_or_default()]),
        entity: lane(company, name, id),
        position: Position::at(at.and_then(|at| time_us(at, Unit::Seconds))),
        volatile: &[],
        part: batch::wrapped(&before, item.json, "]}}]}")?,
    })
}

//! What Braintree's payload says: XML with a kind, a time and the thing it is about.

use roxmltree::{Document, Node, ParsingOptions};

use crate::text::date_us;
use crate::{Draft, Event, Facts, Position, Rejection, identity};

pub(super) const FACTS: Facts = Facts {
    title: "Braintree",
    proof: "HMAC-SHA1 hex over the payload, in the form",
    key: "a digest of the payload",
    entity: "name and id of the subject",
    position: "`timestamp` (1 s)",
};

/// Elements of a payload. Those of Braintree have some hundreds.
const ELEMENTS_MAX: u32 = 100_000;

fn child<'a, 'x>(node: Node<'a, 'x>, name: &str) -> Option<Node<'a, 'x>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// There is no id. The payload is resent as it was, and its time and subject tell it apart.
pub(super) fn event(xml: &[u8]) -> Result<Event, Rejection> {
    let fault = Rejection::Unreadable("the payload is not XML");
    let text = std::str::from_utf8(xml).map_err(|_| fault.clone())?;
    let options = ParsingOptions { nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|_| fault)?;
    let root = document.root_element();
    let text = |name| child(root, name).and_then(|node| node.text());
    let subject = child(root, "subject").and_then(|node| node.first_element_child());
    let id = subject.and_then(|node| child(node, "id")).and_then(|node| node.text());
    let entity = subject.zip(id).map(|(node, id)| format!("{}:{id}", node.tag_name().name()));
    Ok(Event {
        key: identity::digest(&[xml]),
        kind: identity::kind(&[text("kind").unwrap_or_default()]),
        entity: identity::entity(&[entity.as_deref()]),
        position: Position::at(text("timestamp").and_then(date_us)),
        volatile: &[],
        part: None,
    })
}

/// A notification about a subscription that bears the id asked for.
pub(super) fn sample(draft: &Draft<'_>) -> Vec<u8> {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let (kind, id) = (escaped(draft.kind), escaped(draft.key));
    format!(
        "<notification><timestamp type=\"datetime\">2026-01-01T00:00:00Z</timestamp>\
         <kind>{kind}</kind><subject><subscription><id>{id}</id></subscription></subject>\
         </notification>"
    )
    .into_bytes()
}

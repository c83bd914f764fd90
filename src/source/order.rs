//! Which jobs of a route wait for one another, and for what.
//!
//! Pure: an entity is read out of a body that was proved before.

use crate::job::{Lane, LaneId};
use providers::json;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::str::FromStr;

/// Order among the jobs of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// No lanes.
    None,
    /// One lane an entity, in order of arrival.
    Arrival,
    /// One lane an entity, in the order in which the sender says that things occurred.
    Occurred,
    /// As `Occurred`; what is older than what was processed is superseded, not sent.
    Latest,
}

impl Order {
    /// Whether jobs wait in the order of their positions.
    pub fn is_by_position(self) -> bool {
        matches!(self, Self::Occurred | Self::Latest)
    }

    /// The lane of an entity on a route.
    pub fn lane(self, route: &str, entity: Option<&str>, hold_us: i64) -> Option<Lane> {
        let entity = entity.filter(|_| self != Self::None)?;
        Some(Lane {
            id: LaneId::new(route, entity),
            entity: entity.to_owned(),
            by_position: self.is_by_position(),
            latest: self == Self::Latest,
            hold_us,
        })
    }
}

/// Bytes of an entity; a longer one is replaced by its digest, so that lanes stay apart.
const ENTITY_BYTES_MAX: usize = 256;

/// JSON pointers in a template: each costs a look at every delivery.
const POINTERS_MAX: usize = 8;

/// A template of an entity: text with JSON pointers in braces, such as
/// `{/repository/id}/{/issue/number}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    text: String,
    /// Literals around the pointers: one more than there are pointers.
    literals: Vec<String>,
    pointers: Vec<String>,
}

impl OrderBy {
    /// The entity of a body; `None` when a field is not there or the body is not JSON.
    pub fn entity(&self, content_type: Option<&[u8]>, body: &[u8]) -> Option<String> {
        let view = json::view(content_type, body);
        let fields = json::fields_at(&view, &self.pointers).ok()?;
        let mut entity = self.literals[0].clone();
        for (field, literal) in fields.iter().zip(&self.literals[1..]) {
            let text = field.as_ref().map(json::Scalar::as_str).filter(|text| !text.is_empty())?;
            entity.push_str(text);
            entity.push_str(literal);
        }
        let entity = entity.replace('\0', "");
        match entity.len() {
            0..=ENTITY_BYTES_MAX => Some(entity),
            _ => Some(format!("sha256:{}", hex::encode(Sha256::digest(&entity)))),
        }
    }

    /// The template as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for OrderBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut literals, mut pointers) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((literal, tail)) = rest.split_once('{') {
            let (pointer, tail) = tail.split_once('}').ok_or("a \"{\" is not closed")?;
            if let Some(fault) = json::pointer_fault(pointer) {
                return Err(fault.to_owned());
            }
            literals.push(literal.to_owned());
            pointers.push(pointer.to_owned());
            rest = tail;
        }
        literals.push(rest.to_owned());
        match pointers.len() {
            0 => Err("expected JSON pointers in braces, such as {/repository/id}".into()),
            1..=POINTERS_MAX => Ok(Self { text: text.to_owned(), literals, pointers }),
            _ => Err(format!("has more than {POINTERS_MAX} pointers in it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(template: &str, body: &str) -> Option<String> {
        template.parse::<OrderBy>().unwrap().entity(None, body.as_bytes())
    }

    #[test]
    fn a_template_puts_fields_of_the_body_into_its_text() {
        let body = r#"{"repo":{"id":7},"issue":{"number":41},"empty":""}"#;
        assert_eq!(entity("{/repo/id}#{/issue/number}", body).unwrap(), "7#41");
        assert_eq!(entity("repo-{/repo/id}", body).unwrap(), "repo-7");
        for absent in ["{/repo/name}", "{/empty}", "{/repo}", "x{/repo/id}{/no}"] {
            assert_eq!(entity(absent, body), None, "{absent}");
        }
        assert_eq!(entity("{/a}", "not json"), None);
    }

    #[test]
    fn a_long_entity_becomes_its_digest_and_stays_apart_from_others() {
        let body = |end: &str| format!(r#"{{"a":"{}{end}"}}"#, "x".repeat(300));
        let (one, other) = (entity("{/a}", &body("1")), entity("{/a}", &body("2")));
        assert!(one.as_ref().is_some_and(|one| one.len() < 80 && one.starts_with("sha256:")));
        assert_ne!(one, other);
    }

    #[test]
    fn a_template_without_pointers_or_with_a_broken_one_is_refused() {
        for text in ["", "repository", "{repository}", "{/a", &"{/a}".repeat(9)] {
            assert!(text.parse::<OrderBy>().is_err(), "{text:?}");
        }
    }
}

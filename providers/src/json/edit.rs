//! Puts a text into a body that is to be signed here, such as the id of a trial event. The body is
//! our own or the operator's; received bodies are never rewritten.

use serde_json::Value;

/// The body with a string at `pointer`, making the objects on the way; `None` where the body is
/// not JSON or something else stands in the way.
pub(crate) fn with_text(body: &[u8], pointer: &str, text: &str) -> Option<Vec<u8>> {
    let mut root: Value = serde_json::from_slice(body).ok()?;
    let mut at = &mut root;
    for token in pointer.strip_prefix('/')?.split('/') {
        let name = token.replace("~1", "/").replace("~0", "~");
        at = match at {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            Value::Object(members) => members.entry(name).or_insert_with(empty_object),
            _ => return None,
        };
    }
    *at = Value::String(text.to_owned());
    serde_json::to_vec(&root).ok()
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}

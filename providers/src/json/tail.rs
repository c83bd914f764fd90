//! A member near the end of a body, read from there: some sign their time inside the body and put
//! it last, and to look through all of a body for it costs as much as to prove it.

use super::{fields, texts};

/// Bytes at the end that are looked at.
const TAIL_BYTES: usize = 512;

/// The text of the scalar `name` in the outermost object of a JSON document, where only members of
/// that object follow it; `None` says nothing of the rest. `name` is plain letters.
///
/// From the name on, the tail must close exactly one object. That is the outermost one, as the
/// document ends there too; and behind a comma or brace, the name is a name and no part of a text.
pub(crate) fn last_member(body: &[u8], name: &str) -> Option<String> {
    let tail = &body[body.len().saturating_sub(TAIL_BYTES)..];
    let quoted = format!("\"{name}\"");
    let at = tail.windows(quoted.len()).rposition(|window| window == quoted.as_bytes())?;
    let before = tail[..at].trim_ascii_end().last()?;
    let object = [b"{", &tail[at..]].concat();
    let read = fields(&object, [&*format!("/{name}")]).ok()?;
    let [text] = texts(&read);
    text.filter(|_| b",{".contains(before)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::last_member;

    #[test]
    fn a_member_is_read_from_the_end_only_where_it_is_of_the_outermost_object() {
        let filling = "x".repeat(2_000);
        for (body, text) in [
            (r#"{"a":[1],"t":17,"u":"v"}"#.to_owned(), Some("17")),
            (r#"{ "t" : "17" } "#.to_owned(), Some("17")),
            (r#"{"t":1,"t":2}"#.to_owned(), Some("2")),
            (format!(r#"{{"a":"{filling}","t":3}}"#), Some("3")),
            (format!(r#"{{"t":3,"a":"{filling}"}}"#), None),
            (r#"{"t":1,"a":{"t":2}}"#.to_owned(), None),
            (r#"{"t":1,"a":{"b":2}}"#.to_owned(), Some("1")),
            (r#"{"t":1,"a":["t"]}"#.to_owned(), None),
            (r#"{"t":1,"a":"\"t\":2"}"#.to_owned(), Some("1")),
            (r#"{"t":1,"a\"t":2}"#.to_owned(), None),
            (r#"[{"t":1}]"#.to_owned(), None),
            (r#"{"t":{}}"#.to_owned(), None),
            (r#""t""#.to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(last_member(body.as_bytes(), "t").as_deref(), text, "{body:.60}");
        }
    }
}

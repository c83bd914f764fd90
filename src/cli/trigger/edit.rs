//! Changes single fields of a body that is about to be signed.
//!
//! In JSON a pointer leads to the field; in a form its first part is the name of a field, and the
//! rest leads into the JSON of that field. Never touches what was received.

use providers::Signed;
use serde_json::{Map, Value};
use url::form_urlencoded::{Serializer, parse};

const FORM: &str = "application/x-www-form-urlencoded";

/// The body of a request with all changes made.
pub(super) fn edited(signed: &Signed, changes: &[(String, String)]) -> Result<Vec<u8>, String> {
    let mut types =
        signed.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let is_form = types.next().is_some_and(|(_, value)| value.starts_with(FORM));
    match is_form {
        true => form(&signed.body, changes),
        false => json(&signed.body, changes),
    }
}

fn json(body: &[u8], changes: &[(String, String)]) -> Result<Vec<u8>, String> {
    let mut root: Value = serde_json::from_slice(body)
        .map_err(|_| "--set: the body is neither JSON nor a form".to_owned())?;
    for (pointer, text) in changes {
        set(&mut root, pointer, value(text))?;
    }
    Ok(root.to_string().into_bytes())
}

fn form(body: &[u8], changes: &[(String, String)]) -> Result<Vec<u8>, String> {
    let mut fields: Vec<(String, String)> = parse(body).into_owned().collect();
    for (pointer, text) in changes {
        let path = pointer.strip_prefix('/').unwrap_or(pointer);
        let (name, rest) = match path.split_once('/') {
            Some((name, rest)) => (plain(name), Some(format!("/{rest}"))),
            None => (plain(path), None),
        };
        let at = fields.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            fields.push((name.clone(), String::new()));
            fields.len() - 1
        });
        fields[at].1 = match rest {
            None => text.clone(),
            Some(rest) => {
                let inner = if fields[at].1.is_empty() { "{}" } else { &fields[at].1 };
                let wrong = |_| format!("--set: the field {name} has no JSON in it");
                let mut root: Value = serde_json::from_str(inner).map_err(wrong)?;
                set(&mut root, &rest, value(text))?;
                root.to_string()
            }
        };
    }
    Ok(Serializer::new(String::new()).extend_pairs(fields).finish().into_bytes())
}

/// What is JSON is meant as it stands; everything else is text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn plain(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Puts a value where a pointer leads, making objects on the way; `-` appends to a list.
fn set(root: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    let nowhere = || format!("--set: the body has no place {pointer}");
    let mut at = root;
    for token in pointer.strip_prefix('/').ok_or_else(nowhere)?.split('/') {
        let name = plain(token);
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Array(items) => {
                if name == "-" {
                    items.push(Value::Null);
                }
                let index = if name == "-" { Ok(items.len() - 1) } else { name.parse() };
                items.get_mut(index.map_err(|_| nowhere())?).ok_or_else(nowhere)?
            }
            Value::Object(members) => members.entry(name).or_insert(Value::Null),
            _ => return Err(nowhere()),
        };
    }
    *at = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(content_type: &str, body: &str, changes: &[&str]) -> Result<String, String> {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        let signed = Signed { headers, body: body.into() };
        let pair = |text: &&str| {
            let (pointer, value) = text.split_once('=').unwrap();
            (pointer.to_owned(), value.to_owned())
        };
        let changes: Vec<_> = changes.iter().map(pair).collect();
        edited(&signed, &changes).map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn fields_of_json_are_set_made_and_appended() {
        let body = r#"{"a":{"b":1.50},"list":[1,2],"x~/y":0}"#;
        let changes =
            ["/a/b=2", "/a/c/d=text", "/list/1=true", "/list/-={\"e\":null}", "/x~0~1y=9"];
        let expected = r#"{"a":{"b":2,"c":{"d":"text"}},"list":[1,true,{"e":null}],"x~/y":9}"#;
        assert_eq!(done("application/json", body, &changes).unwrap(), expected);
        assert_eq!(done("application/json", "[1.50]", &["/0=\"7\""]).unwrap(), "[\"7\"]");
        for (body, change) in [("{}", "a=1"), ("[1]", "/1=1"), ("[1]", "/x=1"), ("1", "/a=1")] {
            let fault = done("application/json", body, &[change]).unwrap_err();
            assert!(fault.starts_with("--set: the body has no place "), "{fault}");
        }
        assert!(done("text/plain", "hello", &["/a=1"]).unwrap_err().contains("neither JSON"));
    }

    #[test]
    fn fields_of_a_form_are_set_and_the_json_in_them() {
        let body = "a=1&payload=%7B%22n%22%3A1%7D&b=%C3%A9+%26";
        let changes = ["/a=x=y", "/payload/n=2", "/payload/m/o=z", "/new=n"];
        let expected = "a=x%3Dy&payload=%7B%22n%22%3A2%2C%22m%22%3A%7B%22o%22%3A%22z%22%7D%7D\
            &b=%C3%A9+%26&new=n";
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        assert_eq!(done(form, body, &changes).unwrap(), expected);
        assert!(done(form, "a=1x", &["/a/b=1"]).unwrap_err().contains("no JSON in it"));
    }
}

//! The readers beneath the providers, each beside an independent one: `serde_json` with a tree,
//! `form_urlencoded`. Where both read, they must read the same.

use providers::json::{Scalar, canonical, fields, fields_at, items, members, view};
use providers::text::{
    Unit, date_us, form_field, form_fields, mail_date_us, number_us, utc_date_us,
};
use serde_json::Value;

/// Single fields, items, members and the canonical form of a body.
pub fn json(data: &[u8]) {
    let pointers = ["", "/a", "/0", "/a/a", "/a/0/a", "/event/id", "/data/object/id", "/a~1b/~0"];
    let read = fields(data, pointers);
    if let Ok(tree) = serde_json::from_slice::<Value>(data) {
        let names_the_parsers_own = data.windows(10).any(|window| window == b"serde_json");
        assert!(read.is_ok() || names_the_parsers_own, "a body is not read");
        let mut known = Vec::new();
        walk(&tree, String::new(), &mut known);
        let pointers: Vec<String> = known.iter().map(|(pointer, _)| pointer.clone()).collect();
        if let Ok(found) = fields_at(data, &pointers) {
            for ((pointer, value), found) in known.iter().zip(&found) {
                let found = found.as_ref().map(Scalar::as_str);
                assert_eq!(found, scalar(value).as_deref(), "{pointer}");
            }
            let form = canonical(data, &[]).expect("it is JSON");
            assert_eq!(canonical(tree.to_string().as_bytes(), &[]).as_ref(), Some(&form));
            let tree = sorted(tree);
            assert_eq!(canonical(tree.to_string().as_bytes(), &[]).as_ref(), Some(&form));
            assert_eq!(canonical(&form, &[]).as_ref(), Some(&form), "it is its own form");
            let same: Option<Value> = serde_json::from_slice(&form).ok();
            assert_eq!(same.map(sorted), Some(tree), "the form says something else");
        }
    }
    let mut end = 0;
    for item in items(data, "").unwrap_or_default() {
        assert_eq!(&data[item.range.clone()], item.json);
        assert!(end < item.range.start && fields(item.json, ["/a"]).is_ok(), "{:?}", item.range);
        end = item.range.end;
    }
    let found = members(data).unwrap_or_default();
    assert!(found.len() <= 1_000 && found.iter().all(|it| fields(it.json, ["/a"]).is_ok()));
    let most = data.len() * 6 + 8;
    assert!(canonical(data, &["/a", "/0"]).is_none_or(|form| form.len() <= most), "it grows");
}

/// Pointers into a value, of objects whose names stand for themselves.
fn walk<'v>(value: &'v Value, at: String, known: &mut Vec<(String, &'v Value)>) {
    let deep = at.matches('/').count() >= 8;
    if deep || known.len() >= 64 {
        return;
    }
    if !at.is_empty() {
        known.push((at.clone(), value));
    }
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            walk(value, format!("{at}/{name}"), known);
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .take(8)
            .for_each(|(index, value)| walk(value, format!("{at}/{index}"), known)),
        _ => {}
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(n, v)| (n, sorted(v))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The fields of a form, and the times that stand in any text.
pub fn form(data: &[u8]) {
    let ours: Vec<(String, String)> = form_fields(data)
        .map(|(name, value)| {
            assert!(name.len() + value.len() <= data.len(), "a field is longer than its form");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&name), text(&value))
        })
        .collect();
    let theirs: Vec<(String, String)> = form_urlencoded::parse(data).into_owned().collect();
    assert_eq!(ours, theirs, "another reader reads another form");
    if let Some((name, value)) = form_fields(data).find(|(name, _)| name.is_ascii()) {
        let name = std::str::from_utf8(&name).expect("it is ASCII");
        assert_eq!(form_field(data, name), Some(value));
    }
    let form = Some(&b"application/x-www-form-urlencoded"[..]);
    assert!(view(form, data).len() <= data.len());
    let text = String::from_utf8_lossy(data);
    for unit in [Unit::Seconds, Unit::Millis] {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        assert!(number_us(&text, unit).is_none() || digits, "{text:?} is no plain number");
    }
    for read in [date_us, utc_date_us, mail_date_us] {
        assert!(read(&text).is_none() || text.len() <= 64, "{text:?} is no date");
    }
}

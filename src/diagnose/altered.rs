//! The body is not what was signed: something on the way has read it and written it anew.

use super::{BODY_BYTES_MAX, Case, Cause, Diagnosis, found};
use providers::Request;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// The body in another form would have been proved.
pub(super) fn other_body(case: &Case<'_>) -> Option<Diagnosis> {
    let body = case.request.body;
    if body.len() > BODY_BYTES_MAX {
        return None;
    }
    let (form, _) = forms(body).into_iter().find(|(_, form)| {
        let request = Request { body: form, ..case.request };
        form != body && case.tried().any(|secret| case.proves(&request, secret))
    })?;
    let text = format!(
        "its body was changed on the way; {form} it would match: something before Posthouse reads \
         and rewrites it, and must hand it on byte for byte"
    );
    Some(found(Cause::BodyAltered, text))
}

/// Forms in which a body may have been signed, and what each is.
fn forms(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut forms = vec![
        ("without white space around it", body.trim_ascii().to_vec()),
        ("without the line end at its end", body.trim_ascii_end().to_vec()),
        ("with a line end at its end", [body, b"\n"].concat()),
    ];
    if let Some(rest) = body.strip_prefix(b"\xef\xbb\xbf") {
        forms.push(("without the byte order mark", rest.to_vec()));
    }
    let Ok(text) = std::str::from_utf8(body) else { return forms };
    let unix = text.replace("\r\n", "\n");
    forms.push(("with the line ends of Windows", unix.replace('\n', "\r\n").into_bytes()));
    forms.push(("with the line ends of Unix", unix.into_bytes()));
    let Ok(value) = serde_json::from_str::<Value>(text) else { return forms };
    let compact = value.to_string();
    forms.push(("as compact JSON", compact.clone().into_bytes()));
    let slashes = |text: &str| text.replace('/', "\\/").into_bytes();
    forms.push(("as JSON with escaped slashes", slashes(&compact)));
    let ascii = ascii(&compact);
    forms.push(("as JSON in ASCII", ascii.clone().into_bytes()));
    forms.push(("as JSON in ASCII with escaped slashes", slashes(&ascii)));
    for (form, written) in [
        ("as JSON with spaces after commas and colons", written(&value, Spaced)),
        ("as JSON indented by two", written(&value, PrettyFormatter::with_indent(b"  "))),
        ("as JSON indented by four", written(&value, PrettyFormatter::with_indent(b"    "))),
    ] {
        if let Some(written) = written {
            if let Ok(text) = std::str::from_utf8(&written) {
                forms.push(("as JSON in ASCII, spaced or indented", self::ascii(text).into()));
            }
            forms.push((form, written));
        }
    }
    forms
}

/// JSON as Python writes it.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> Result<()> {
        to.write_all(b": ")
    }
}

fn written(value: &Value, formatter: impl Formatter) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter)).ok()?;
    Some(bytes)
}

/// JSON with every character beyond ASCII escaped.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter.is_ascii() {
            true => text.push(letter),
            false => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text
}

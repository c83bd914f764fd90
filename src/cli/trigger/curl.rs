//! A signed request as a line for a shell, to be looked at, changed and sent by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use providers::Signed;
use std::fmt::Write;

/// Longer bodies do not stand on the line: Linux takes 128 KiB in one argument.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Characters of a line of base64.
const LINE_CHARS: usize = 76;

/// The command. The body arrives byte for byte: what a shell cannot hold goes through a pipe.
pub(super) fn command(url: &str, signed: &Signed) -> String {
    let mut line = format!("curl -X POST {}", quoted(url));
    let mut headers: Vec<(&str, &str)> =
        signed.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        // Else curl says that it is a form.
        headers.push(("Content-Type", ""));
    }
    for (name, value) in headers {
        let header = match value {
            "" if name != "Content-Type" => format!("{name};"),
            value => format!("{name}: {value}"),
        };
        let _ = write!(line, " \\\n  -H {}", quoted(header.trim_end()));
    }
    let inline = std::str::from_utf8(&signed.body).ok();
    let inline = inline.filter(|text| text.len() <= INLINE_BYTES_MAX && !text.contains('\0'));
    match inline {
        Some(text) => format!("{line} \\\n  --data-raw {}\n", quoted(text)),
        None => {
            let mut text = STANDARD.encode(&signed.body);
            let mut at = LINE_CHARS;
            while at < text.len() {
                text.insert(at, '\n');
                at += LINE_CHARS + 1;
            }
            format!("base64 -d <<'END' | {line} \\\n  --data-binary @-\n{text}\nEND\n")
        }
    }
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_without_a_value_and_without_a_type_are_said_in_the_words_of_curl() {
        let headers = vec![("X-Empty".to_owned(), String::new())];
        let line = command("http://a/b", &Signed { headers, body: b"it's".to_vec() });
        let expected = "curl -X POST 'http://a/b' \\\n  -H 'X-Empty;' \\\n  -H 'Content-Type:' \
            \\\n  --data-raw 'it'\\''s'\n";
        assert_eq!(line, expected);
    }
}

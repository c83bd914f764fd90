//! Standard output: written once, as a whole, and without a panic when nobody reads it.
//!
//! What senders and destinations wrote is escaped before it reaches a terminal: control
//! characters could move the cursor, hide lines or set titles.

use super::failure::Failure;
use serde_json::Value;
use std::io::{self, Write};

/// Prints a text as it is.
pub(super) fn text(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Prints bytes as they are.
pub(super) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// Prints JSON, indented. Its control characters below U+0020 are escaped by its own rules.
pub(super) fn json(value: &Value) -> Result<(), Failure> {
    let escaped: String = format!("{value:#}\n").chars().map(Escaped::in_json).collect();
    text(&escaped)
}

/// A remark beside the output, for people.
pub(super) fn remark(text: &str) {
    // A remark that nobody can read is no reason to fail.
    let _ = writeln!(io::stderr(), "posthouse: {text}");
}

/// A text on one line and safe for a terminal.
pub(super) fn escape(text: &str) -> String {
    let escaped = |c: char| match c {
        '\n' | '\r' | '\t' => Escaped(c.escape_default().to_string()),
        c if is_active(c) => Escaped(c.escape_unicode().to_string()),
        c => Escaped(c.into()),
    };
    text.chars().map(|c| escaped(c).0).collect()
}

/// As [`escape`], but line ends and tabs stay.
pub(super) fn escape_lines(text: &str) -> String {
    let escaped = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c => escape(c.encode_utf8(&mut [0; 4])),
    };
    text.chars().map(escaped).collect()
}

struct Escaped(String);

impl Escaped {
    fn in_json(c: char) -> String {
        match c {
            '\n' => c.to_string(),
            c if is_active(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        }
    }
}

/// Whether a terminal would act on a character: controls, and what turns the direction of text.
fn is_active(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' | '\u{061c}');
    c.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_left() {
        assert_eq!(escape("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(escape("one\r\ntwo\tthree"), "one\\r\\ntwo\\tthree");
        assert_eq!(escape("\u{9b}31m\u{7f}\u{202e}"), "\\u{9b}31m\\u{7f}\\u{202e}");
        assert_eq!(escape("Zürich 東京 \\n"), "Zürich 東京 \\n");
    }

    #[test]
    fn lines_stay_lines_where_they_may() {
        assert_eq!(escape_lines("{\n\t\"a\": 1\r\n}\u{7}"), "{\n\t\"a\": 1\\r\n}\\u{7}");
    }
}

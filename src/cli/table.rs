//! Aligned text: a title and the columns of rows, two spaces between them.

use super::print::escape;
use super::times::short;
use serde_json::Value;

/// Characters of a cell: one long value must not push all others off the screen.
const CELL_CHARS_MAX: usize = 64;

/// Rows under titles.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with titles and no rows.
    pub(super) fn new(titles: &[&str]) -> Self {
        Self { rows: vec![titles.iter().map(|title| (*title).to_owned()).collect()] }
    }

    /// A table of JSON objects: every column has a title and the field it shows.
    pub(super) fn of(items: &[Value], columns: &[(&str, &str)]) -> Self {
        let titles: Vec<_> = columns.iter().map(|(title, _)| *title).collect();
        let mut table = Self::new(&titles);
        for item in items {
            table.row(columns.iter().map(|(_, field)| shown(item, field)));
        }
        table
    }

    /// Adds a row. Control characters are escaped, and long cells cut.
    pub(super) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(|cell| cut(&escape(cell.as_ref()), CELL_CHARS_MAX));
        self.rows.push(cells.collect());
    }

    /// The text, every line with its end.
    pub(super) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            format!("{}\n", line.trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// A field of an object as a cell: a dash where there is nothing. Times are fields in `_at`.
pub(super) fn shown(item: &Value, field: &str) -> String {
    let value = field.split('.').fold(item, |value, name| &value[name]);
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) if is_time(field) => short(text),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "-".to_owned(),
        Value::Array(list) => {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            list.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Whether a field holds a time.
fn is_time(field: &str) -> bool {
    ["_at", "since", "until"].iter().any(|end| field.ends_with(end))
}

/// A text of at most so many characters, with a mark where it was cut.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => {
            let kept = chars_max.saturating_sub(1);
            text.chars().take(kept).chain(['\u{2026}']).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_aligned_by_characters_and_no_line_ends_in_spaces() {
        let mut table = Table::new(&["ID", "KIND", "REASON"]);
        table.row(["7", "issues.öpened", "-"]);
        table.row(["1042", "push", ""]);
        let text = "ID    KIND           REASON\n7     issues.öpened  -\n1042  push\n";
        assert_eq!(table.text(), text);
    }

    #[test]
    fn cells_are_escaped_and_cut() {
        let mut table = Table::new(&["A", "B"]);
        table.row(["x\u{1b}[31m\n", "y"]);
        table.row(["z".repeat(500).as_str(), "y"]);
        let text = table.text();
        assert!(text.contains("x\\u{1b}[31m\\n") && !text.contains('\u{1b}'), "{text}");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(CELL_CHARS_MAX + 3));
        assert!(text.contains("zz\u{2026}  y"));
    }

    #[test]
    fn fields_become_cells() {
        let item = json!({ "n": 3, "none": null, "received_at": "2026-03-01T12:00:00.123456Z",
            "paused": { "reason": "dinner" }, "events": ["push", "ping"], "empty": [] });
        let cells = ["n", "none", "received_at", "paused.reason", "events", "empty", "absent.deep"];
        let shown: Vec<_> = cells.iter().map(|field| shown(&item, field)).collect();
        let expected = ["3", "-", "2026-03-01T12:00:00Z", "dinner", "push, ping", "-", "-"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö\u{2026}");
    }
}

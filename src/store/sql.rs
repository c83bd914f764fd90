//! One text for both engines.
//!
//! A statement is written once, with `$1` placeholders for single values and `{rows}` for a list
//! of rows. SQLite gets `VALUES (?, ..), ..` and PostgreSQL `unnest($3::bigint[], ..)`: arrays
//! keep the statement the same for every number of rows, so it is planned once. `{..}` marks
//! with other names stand for the few literals in which the engines differ.
//!
//! SQLite gets nameless `?` only: it looks a named parameter up by a linear search, which makes
//! binding a thousand of them quadratic.

use sqlx::AssertSqlSafe;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

/// A single value.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Int(i64),
    OptInt(Option<i64>),
    Text(String),
    Blob(Vec<u8>),
}

/// One column of a list of rows. All columns of a list have the same length.
#[derive(Debug)]
pub(crate) enum Column {
    Int(Vec<i64>),
    OptInt(Vec<Option<i64>>),
    Text(Vec<String>),
    OptText(Vec<Option<String>>),
    Blob(Vec<Vec<u8>>),
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::OptInt(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::OptText(values) => values.len(),
            Self::Blob(values) => values.len(),
        }
    }

    /// Cuts off what is beyond [`ROWS_MAX`].
    fn split_off(&mut self) -> Self {
        match self {
            Self::Int(values) => Self::Int(values.split_off(ROWS_MAX)),
            Self::OptInt(values) => Self::OptInt(values.split_off(ROWS_MAX)),
            Self::Text(values) => Self::Text(values.split_off(ROWS_MAX)),
            Self::OptText(values) => Self::OptText(values.split_off(ROWS_MAX)),
            Self::Blob(values) => Self::Blob(values.split_off(ROWS_MAX)),
        }
    }

    fn postgres_type(&self) -> &'static str {
        match self {
            Self::Int(_) | Self::OptInt(_) => "bigint[]",
            Self::Text(_) | Self::OptText(_) => "text[]",
            Self::Blob(_) => "bytea[]",
        }
    }
}

/// Which values SQLite wants at its `?`s, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The single value of this index.
    Arg(usize),
    /// All rows, row by row.
    Rows,
}

/// A statement as an engine gets it.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) text: Arc<str>,
    pub(crate) slots: Vec<Slot>,
}

impl Expanded {
    /// As the driver wants it: made of templates of ours, and of nothing that anybody sent.
    pub(crate) fn safe(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(self.text.clone())
    }
}

/// Where the engines say the same thing differently.
const LITERALS: [(&str, &str, &str); 4] = [
    // Claims of two processes step over each other's rows; SQLite has one writer at a time.
    ("{skip_locked}", "", "FOR UPDATE SKIP LOCKED"),
    ("{for_update}", "", "FOR UPDATE"),
    ("{least}", "min", "least"),
    ("{greatest}", "max", "greatest"),
];

/// Rows of a list that SQLite gets at once. It takes 32,766 values a statement, the widest list has
/// 15 columns, and each number of rows is a text of its own that is kept.
pub(crate) const ROWS_MAX: usize = 500;

/// A list of rows in portions that SQLite takes; one, if it is short or there is none. Every
/// statement over a list treats its rows one by one, so that it may be run once a portion.
pub(crate) fn portions(mut rows: Vec<Column>) -> Vec<Vec<Column>> {
    let mut portions = Vec::new();
    while rows.first().is_some_and(|column| column.len() > ROWS_MAX) {
        let rest: Vec<Column> = rows.iter_mut().map(Column::split_off).collect();
        portions.push(std::mem::replace(&mut rows, rest));
    }
    portions.push(rows);
    portions
}

type Cache = RwLock<HashMap<(usize, usize, bool), Arc<Expanded>>>;

/// Expansions by the address of their template, the number of rows and the engine.
static CACHE: LazyLock<Cache> = LazyLock::new(Cache::default);

pub(crate) fn for_sqlite(template: &'static str, rows: &[Column]) -> Arc<Expanded> {
    cached(template, rows, false, || sqlite(template, rows))
}

pub(crate) fn for_postgres(template: &'static str, args: usize, rows: &[Column]) -> Arc<Expanded> {
    cached(template, rows, true, || postgres(template, args, rows))
}

fn cached(
    template: &'static str,
    rows: &[Column],
    postgres: bool,
    expand: impl FnOnce() -> Expanded,
) -> Arc<Expanded> {
    let count = if postgres { 0 } else { rows.first().map_or(0, Column::len) };
    let key = (template.as_ptr() as usize, count, postgres);
    let read = CACHE.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(found) = read.get(&key) {
        return found.clone();
    }
    drop(read);
    let expanded = Arc::new(expand());
    let mut cache = CACHE.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    cache.insert(key, expanded.clone());
    expanded
}

fn sqlite(template: &str, rows: &[Column]) -> Expanded {
    let mut template = template.to_owned();
    for (mark, text, _) in LITERALS {
        template = template.replace(mark, text);
    }
    let (mut text, mut slots) = (String::new(), Vec::new());
    let mut rest = template.as_str();
    while let Some(at) = rest.find(['$', '{']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(tail) = rest.strip_prefix("{rows}") {
            let row = format!("({})", vec!["?"; rows.len()].join(", "));
            let count = rows.first().map_or(0, Column::len);
            text.push_str("VALUES ");
            text.push_str(&vec![row; count].join(", "));
            slots.push(Slot::Rows);
            rest = tail;
            continue;
        }
        let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
        match rest[1..=digits].parse::<usize>() {
            Ok(number) if rest.starts_with('$') => {
                text.push('?');
                slots.push(Slot::Arg(number - 1));
            }
            _ => text.push_str(&rest[..=digits]),
        }
        rest = &rest[digits + 1..];
    }
    text.push_str(rest);
    Expanded { text: text.into(), slots }
}

fn postgres(template: &str, args: usize, rows: &[Column]) -> Expanded {
    let mut text = template.to_owned();
    for (mark, _, literal) in LITERALS {
        text = text.replace(mark, literal);
    }
    let arrays: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(index, column)| format!("${}::{}", args + index + 1, column.postgres_type()))
        .collect();
    text = text.replace("{rows}", &format!("SELECT * FROM unnest({})", arrays.join(", ")));
    Expanded { text: text.into(), slots: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_into_portions_and_loses_no_row() {
        let rows =
            |count| vec![Column::Int((0..count).collect()), Column::Blob(vec![vec![]; 1201])];
        let lengths: Vec<usize> = portions(rows(1201)).iter().map(|part| part[1].len()).collect();
        assert_eq!(lengths, [500, 500, 201]);
        let whole = portions(rows(1201)).into_iter().flat_map(|mut part| match part.remove(0) {
            Column::Int(values) => values,
            _ => Vec::new(),
        });
        assert!(whole.eq(0..1201));
        assert_eq!(portions(Vec::new()).len(), 1, "a statement without a list runs once");
    }

    #[test]
    fn one_template_serves_both_engines() {
        let template = "WITH v(a, b) AS ({rows}) UPDATE t SET x = $2, y = $1 {for_update}";
        let rows = [Column::Int(vec![1, 2]), Column::OptText(vec![None, None])];
        let sqlite = for_sqlite(template, &rows);
        assert_eq!(
            &*sqlite.text,
            "WITH v(a, b) AS (VALUES (?, ?), (?, ?)) UPDATE t SET x = ?, y = ? "
        );
        assert_eq!(sqlite.slots, [Slot::Rows, Slot::Arg(1), Slot::Arg(0)]);
        let postgres = for_postgres(template, 2, &rows);
        assert_eq!(
            &*postgres.text,
            "WITH v(a, b) AS (SELECT * FROM unnest($3::bigint[], $4::text[])) \
             UPDATE t SET x = $2, y = $1 FOR UPDATE"
        );
    }
}

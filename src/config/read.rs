//! Reads the merged tree of values into typed structs, and goes on after a fault.
//!
//! A section is declared once with [`section!`]: its keys, their kinds, defaults, limits and
//! meanings. From that come the struct, its reading, its showing and its documentation, so none
//! of them can be forgotten. serde is not used: it stops at the first wrong value.
//! Never repeats a value in a fault, as it may be a secret in the wrong place.

use super::Fault;
use ::config::{Value, ValueKind};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The keys of a table, as `config` hands them over.
pub(super) type Table = ::config::Map<String, Value>;

/// Where the text of a default comes from, for [`Value::origin`].
const DEFAULT: &str = "the defaults";

/// What the whole reading knows and collects.
#[derive(Default)]
pub(super) struct Reading {
    /// The environment that `env:NAME` refers to.
    pub environment: BTreeMap<String, String>,
    /// Files of the first start that are not written, with what would be in them.
    pub unwritten: BTreeMap<PathBuf, String>,
    /// All faults so far.
    pub faults: RefCell<Vec<Fault>>,
    /// Remarks for the operator.
    pub notes: RefCell<Vec<String>>,
}

/// A place in the configuration, where something is being read.
pub(super) struct Place<'r> {
    /// The reading it belongs to.
    pub reading: &'r Reading,
    /// The path of the key, such as `sources.github.secrets`.
    pub path: String,
}

impl<'r> Place<'r> {
    /// The place of a key of this table.
    pub fn key(&self, key: &str) -> Place<'r> {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let plain = !key.is_empty() && key.bytes().all(bare);
        let key = if plain { key.to_owned() } else { format!("{key:?}") };
        Place { reading: self.reading, path: join(&self.path, &key) }
    }

    /// The place of an element of this list.
    pub fn index(&self, index: usize) -> Place<'r> {
        Place { reading: self.reading, path: format!("{}[{index}]", self.path) }
    }

    /// Records a fault.
    pub fn fault(&self, message: impl Into<String>) {
        let fault = Fault { path: self.path.clone(), message: message.into() };
        self.reading.faults.borrow_mut().push(fault);
    }

    /// Records a remark.
    pub fn note(&self, message: &str) {
        self.reading.notes.borrow_mut().push(format!("{}: {message}", self.path));
    }

    /// Whether a fault was recorded here or beneath.
    pub fn is_faulty(&self) -> bool {
        let faults = self.reading.faults.borrow();
        faults.iter().any(|fault| {
            let rest = fault.path.strip_prefix(&self.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// The keys of a value that must be a table.
    pub fn table(&self, value: Value) -> Option<Table> {
        match value.kind {
            ValueKind::Table(table) => Some(table),
            _ => {
                self.fault("expected a table");
                None
            }
        }
    }

    /// Reads a key of a table; after a fault its default stands in, so that reading goes on.
    pub fn field<T: Kind>(
        &self,
        table: &mut Table,
        name: &str,
        default: &[&str],
        limits: &[(&str, &str)],
    ) -> Option<T> {
        let at = self.key(bare(name));
        let from_text = |text: &str| T::read(Value::new(Some(&DEFAULT.into()), text), &at);
        let given = table.remove(bare(name)).and_then(|value| T::read(value, &at));
        if let Some(value) = given {
            let outside = limits.iter().find(|(min, max)| {
                let rank = |text: &str| from_text(text).and_then(|limit| limit.rank());
                let value = value.rank();
                value.is_some() && (value < rank(min) || value > rank(max))
            });
            match outside {
                None => return Some(value),
                Some((min, max)) => at.fault(format!("must lie between {min} and {max}")),
            }
        }
        default.first().map_or_else(|| T::absent(&at), |text| from_text(text))
    }

    /// Reports the keys that nobody asked for.
    pub fn unknown(&self, table: Table, known: &[&str]) {
        let known: Vec<_> = known.iter().map(|name| bare(name)).collect();
        for (key, value) in table.into_iter().collect::<BTreeMap<_, _>>() {
            let from = value.origin().map_or(String::new(), |origin| format!(" (from {origin})"));
            let message = format!("unknown key{from}; known here: {}", known.join(", "));
            self.key(&key).fault(message);
        }
    }
}

/// The name of a key that is a Rust keyword.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The path of a key.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { bare(key).to_owned() } else { format!("{path}.{}", bare(key)) }
}

/// One key of the configuration, as the reference shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its path; `*` stands for a name, `[]` for an element of a list.
    pub path: String,
    /// The default as it would be written, or in words.
    pub default: &'static str,
    /// The smallest and the greatest value.
    pub limits: Option<(&'static str, &'static str)>,
    /// What it does, and why the default is what it is.
    pub meaning: String,
}

/// A kind of value.
pub(super) trait Kind: Sized {
    /// Reads it, or records why not.
    fn read(value: Value, at: &Place<'_>) -> Option<Self>;

    /// What it is when neither it nor a default is given.
    fn absent(_at: &Place<'_>) -> Option<Self> {
        None
    }

    /// What the operator may see of it.
    fn show(&self) -> Json;

    /// Its place among others of its kind, for limits.
    fn rank(&self) -> Option<u128> {
        None
    }

    /// Lists the keys beneath `path`; `false` when it is a key itself.
    fn keys(_path: &str, _keys: &mut Vec<Key>) -> bool {
        false
    }
}

/// Declares a section: `key: Kind = "default" ["least" to "greatest"]`, or `=> "in words"` where
/// the default is decided later. Every key needs a doc comment, or it does not compile.
macro_rules! section {
    ($(#[$about:meta])* $name:ident { $(
        $(#[doc = $meaning:literal])+
        $field:ident: $kind:ty $(= $default:literal)? $(=> $words:literal)?
        $([$min:literal to $max:literal])?,
    )+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name { $( $(#[doc = $meaning])+ pub $field: $kind, )+ }

        impl $crate::config::read::Kind for $name {
            fn read(
                value: ::config::Value,
                at: &$crate::config::read::Place<'_>,
            ) -> Option<Self> {
                let mut table = at.table(value)?;
                $( let $field = at.field(
                    &mut table, stringify!($field), &[$($default)?], &[$(($min, $max))?],
                ); )+
                at.unknown(table, &[$(stringify!($field)),+]);
                Some(Self { $($field: $field?,)+ })
            }

            fn absent(at: &$crate::config::read::Place<'_>) -> Option<Self> {
                Self::read($crate::config::read::Table::new().into(), at)
            }

            fn show(&self) -> serde_json::Value {
                let mut shown = serde_json::Map::new();
                $( shown.insert(
                    $crate::config::read::bare(stringify!($field)).into(), self.$field.show(),
                ); )+
                shown.into()
            }

            fn keys(path: &str, keys: &mut Vec<$crate::config::read::Key>) -> bool {
                $( let path_of_key = $crate::config::read::join(path, stringify!($field));
                if !<$kind as $crate::config::read::Kind>::keys(&path_of_key, keys) {
                    keys.push($crate::config::read::Key {
                        path: path_of_key,
                        default: concat!($($default)? $($words)?),
                        limits: [$(($min, $max))?].first().copied(),
                        meaning: concat!($($meaning),+).trim().to_owned(),
                    });
                } )+
                true
            }
        }
    };
}
pub(super) use section;

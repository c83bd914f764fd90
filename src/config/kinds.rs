//! The kinds of value with parts: what may be left out, lists, tables of named entries.
//!
//! As text, in the environment and on the command line, a list is TOML in brackets or elements
//! between commas. Never keeps the order of a table: `config` does not either.

use super::read::{Key, Kind, Place, Table, join};
use ::config::{File, FileFormat, Value, ValueKind};
use serde_json::Value as Json;
use std::collections::BTreeMap;

impl<T: Kind> Kind for Option<T> {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        T::read(value, at).map(Some)
    }

    fn absent(_at: &Place<'_>) -> Option<Self> {
        Some(None)
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, Kind::show)
    }

    fn rank(&self) -> Option<u128> {
        self.as_ref().and_then(Kind::rank)
    }

    fn keys(path: &str, keys: &mut Vec<Key>) -> bool {
        T::keys(path, keys)
    }
}

impl<T: Kind> Kind for Vec<T> {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        let Some(values) = list(value) else {
            at.fault("expected a list");
            return None;
        };
        let read = |(index, value)| T::read(value, &at.index(index));
        Some(values.into_iter().enumerate().filter_map(read).collect())
    }

    fn absent(_at: &Place<'_>) -> Option<Self> {
        Some(Self::new())
    }

    fn show(&self) -> Json {
        self.iter().map(Kind::show).collect()
    }

    fn keys(path: &str, keys: &mut Vec<Key>) -> bool {
        T::keys(&format!("{path}[]"), keys)
    }
}

/// The elements of a list. As text it is either TOML, in brackets, or elements between commas.
fn list(value: Value) -> Option<Vec<Value>> {
    let origin = value.origin().map(ToOwned::to_owned);
    match value.kind {
        ValueKind::Array(values) => Some(values),
        ValueKind::String(text) if text.starts_with('[') && origin.is_some() => {
            let toml = File::from_str(&format!("list = {text}"), FileFormat::Toml);
            let parsed = ::config::Config::builder().add_source(toml).build().ok()?;
            parsed.cache.into_table().ok()?.remove("list")?.into_array().ok()
        }
        ValueKind::String(text) if origin.is_some() => {
            let element = |text: &str| Value::new(origin.as_ref(), text.trim());
            Some(text.split(',').map(element).collect())
        }
        _ => None,
    }
}

impl<T: Kind> Kind for BTreeMap<String, T> {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        let entries = at.table(value)?.into_iter().collect::<BTreeMap<_, _>>();
        let read = |(name, value): (String, Value)| {
            let entry = T::read(value, &at.key(&name))?;
            Some((name, entry))
        };
        Some(entries.into_iter().filter_map(read).collect())
    }

    fn absent(at: &Place<'_>) -> Option<Self> {
        Self::read(Table::new().into(), at)
    }

    fn show(&self) -> Json {
        self.iter().map(|(name, entry)| (name.clone(), entry.show())).collect()
    }

    fn keys(path: &str, keys: &mut Vec<Key>) -> bool {
        T::keys(&join(path, "*"), keys)
    }
}

/// The settings of a generic provider, as they stand; `providers` knows their keys.
#[derive(Clone, Debug)]
pub struct Scheme(pub(super) Value);

impl Kind for Scheme {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        at.table(value).map(|table| Self(table.into()))
    }

    fn show(&self) -> Json {
        self.0.clone().try_deserialize().unwrap_or_default()
    }
}

/// Any value, to be compared with one in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal(pub(super) Json);

impl Kind for Literal {
    fn read(value: Value, at: &Place<'_>) -> Option<Self> {
        let from_text = value.origin().is_some();
        let json = match value.kind {
            // The environment has only text; what is JSON there is meant as it stands.
            ValueKind::String(text) if from_text => {
                Some(serde_json::from_str(&text).unwrap_or(Json::String(text)))
            }
            ValueKind::String(text) => Some(Json::String(text)),
            ValueKind::Boolean(flag) => Some(flag.into()),
            ValueKind::I64(number) => Some(number.into()),
            ValueKind::U64(number) => Some(number.into()),
            ValueKind::Float(number) => Some(number.into()),
            _ => None,
        };
        if json.is_none() {
            at.fault("expected text, a number, true or false");
        }
        json.map(Self)
    }

    fn show(&self) -> Json {
        self.0.clone()
    }
}

//! The entry points, for the targets of cargo-fuzz. The requests that they bend, and how a request
//! is put to a provider, are those of the battery in `tests/catalogue`.

#![expect(clippy::unwrap_used, dead_code, reason = "made for tests; the battery uses all of it")]

#[path = "../tests/catalogue/case.rs"]
mod case;
pub mod entry;
#[path = "../tests/catalogue/file.rs"]
mod file;

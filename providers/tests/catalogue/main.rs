//! The battery over every provider of `ALL`, fed from `vectors/<name>.toml`: proofs and all their
//! near misses, events, handshakes and trial requests. A provider without cases fails by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod case;
#[path = "../../fuzz/entry/mod.rs"]
mod entry;
mod events;
mod file;
mod fuzzed;
mod handshakes;
mod neighbours;
mod proofs;
mod trials;
mod visits;

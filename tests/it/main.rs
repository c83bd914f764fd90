//! The integration tests: the real program on real databases, in one binary. See ../README.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

mod config_cases;
mod dedup;
mod exposure;
mod http_edge;
mod limits;
mod model;
mod order;
mod raw_body;
mod replay;
mod signature;
mod tidy;
mod time;
mod worker;

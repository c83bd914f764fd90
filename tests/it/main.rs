//! The integration tests: the real program on real databases, in one binary. See ../README.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

mod http_edge;
mod raw_body;
mod signature;
mod model;
mod tidy;

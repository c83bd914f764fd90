//! The integration tests: the real program on real databases, in one binary. See ../README.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

mod cli;
mod config_cases;
mod crash;
mod crash_lease;
mod crash_postgres;
mod dedup;
mod exposure;
mod first_start;
mod destination;
mod destination_command;
mod destination_request;
mod http_edge;
mod limits;
mod model;
mod ops;
mod order;
mod raw_body;
mod replay;
mod signature;
mod tidy;
mod time;
mod worker;

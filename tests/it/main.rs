//! The integration tests: the real program on real databases, in one binary. See ../README.md.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

mod ack;
mod alarms;
mod alarms_sources;
mod alarms_told;
mod budget;
mod bulk;
mod circuit;
mod circuit_pair;
mod batch;
mod cli;
mod config_cases;
mod crash;
mod crash_lease;
mod crash_postgres;
mod db;
mod db_full;
mod dedup;
mod destination;
mod destination_command;
mod destination_request;
mod exposure;
mod first_start;
mod handshake;
mod http_edge;
mod keys;
mod limits;
mod model;
mod operate;
mod ops;
mod order;
mod order_crowd;
mod order_position;
mod outcomes;
mod pauses;
mod quarantine;
mod raw_body;
mod replay;
mod signature;
mod tidy;
mod time;
mod worker;
mod worker_handler;
mod worker_pair;

//! What every case stands on: a database, the real program, a sender, a destination, a ledger.
//!
//! Files by what they are. Nothing here knows the code under test: programs are started and talked
//! to from outside, and signatures are made by another implementation.

pub mod alarm;
pub mod answer;
pub mod crowd;
pub mod database;
pub mod guard;
pub mod lane;
pub mod launch;
pub mod ledger;
pub mod message;
pub mod postgres;
mod samples;
pub mod sender;
pub mod server;
pub mod settings;
pub mod sns;
pub mod stub;
pub mod vectors;
pub mod wire;
pub mod world;

pub use alarm::*;
pub use answer::{Answer, Gate};
pub use crowd::{at_once, send_all};
pub use database::Database;
pub use lane::*;
pub use launch::Launch;
pub use ledger::until;
pub use message::{Request, Response};
pub use postgres::Cluster;
pub use sender::*;
pub use server::Server;
pub use settings::*;
pub use sns::*;
pub use stub::{Received, Stub};
pub use vectors::*;
pub use wire::Wire;
pub(crate) use world::both;
pub use world::{Engine, World, run};

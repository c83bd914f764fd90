//! A load of a fixed rate: every request has its time, whatever became of the ones before.
//!
//! Times count from when a request was to be sent, so that a server that stalls cannot hide it by
//! keeping the load waiting. One blocking thread for each connection: its clock is exact to some
//! tens of microseconds, where a timer wheel would round to milliseconds.

use crate::answer::Incoming;
use crate::closed::Load;
use crate::request::Requests;
use crate::tally::Tally;
use anyhow::Context;
use posthouse::clock::wall_us;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// When requests are sent.
#[derive(Clone, Copy)]
pub struct Schedule {
    pub per_second: f64,
    /// Time before the first answer that counts.
    pub warm_up: Duration,
    /// Time that is measured.
    pub length: Duration,
    /// Ids carry the time at which their request was to be sent.
    pub stamped: bool,
}

/// Sends by the schedule over all connections in turn.
pub fn run(load: &Load, schedule: Schedule) -> anyhow::Result<Tally> {
    let start = Instant::now() + Duration::from_millis(50);
    let start_us = wall_us() + 50_000;
    let lanes = load.connections;
    let threads: Vec<_> = (0..lanes)
        .map(|lane| {
            let load = load.clone();
            thread::spawn(move || {
                let stream = TcpStream::connect(load.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
                stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
                let turn = Turn { lane, lanes, start, start_us };
                Ok::<_, io::Error>(repeat(stream, &load.requests, schedule, turn))
            })
        })
        .collect();
    let mut tally = Tally::default();
    for thread in threads {
        let counted =
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the load panicked"))?;
        tally.add(counted.context("driving the load")?);
    }
    Ok(tally)
}

/// Which of all requests a connection sends, and when the first one was to be sent.
#[derive(Clone, Copy)]
struct Turn {
    lane: usize,
    lanes: usize,
    start: Instant,
    start_us: i64,
}

fn repeat(mut stream: TcpStream, requests: &Requests, schedule: Schedule, turn: Turn) -> Tally {
    let mut tally = Tally::default();
    let mut request = Vec::new();
    let mut incoming = Incoming::default();
    for number in (turn.lane..).step_by(turn.lanes) {
        let offset = Duration::from_secs_f64(number as f64 / schedule.per_second);
        if offset >= schedule.warm_up + schedule.length {
            break;
        }
        let planned = turn.start + offset;
        thread::sleep(planned.saturating_duration_since(Instant::now()));
        let stamp = turn.start_us.unsigned_abs() + offset.as_micros() as u64;
        requests.write(schedule.stamped.then_some(stamp), &mut request);
        match exchange(&mut stream, &request, &mut incoming) {
            Ok(status) => {
                tally.answered(status, planned.elapsed(), offset >= schedule.warm_up);
            }
            Err(_) => {
                tally.errors += 1;
                break;
            }
        }
    }
    tally
}

fn exchange(stream: &mut TcpStream, request: &[u8], incoming: &mut Incoming) -> io::Result<u16> {
    stream.write_all(request)?;
    loop {
        match stream.read(incoming.room())? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => {
                if let Some(status) = incoming.arrived(bytes) {
                    return Ok(status);
                }
            }
        }
    }
}

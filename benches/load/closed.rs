//! As much load as the server takes: every connection sends again as soon as it is answered.
//!
//! The load shares the cores with the server, so it does nothing but write, read and count.

use crate::answer::Incoming;
use crate::request::Requests;
use crate::tally::Tally;
use anyhow::Context;
use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpStream as Connecting};
use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Threads that send: one for each core of the machine that the targets are for.
const THREADS: usize = 2;

/// How long an answer may be late before its connection counts as broken.
const GRACE: Duration = Duration::from_secs(10);

/// Where to send what, over how many connections.
#[derive(Clone)]
pub struct Load {
    pub address: SocketAddr,
    pub connections: usize,
    pub requests: Arc<Requests>,
}

/// The time that is measured.
#[derive(Clone, Copy)]
struct Window {
    from: Instant,
    until: Instant,
}

/// Drives the server for `length`, after `warm_up`, and calls `sample` at both ends.
pub fn run<T>(
    load: &Load,
    warm_up: Duration,
    length: Duration,
    sample: impl Fn() -> anyhow::Result<T>,
) -> anyhow::Result<(Tally, T, T)> {
    let start = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (load, start) = (load.clone(), start.clone());
            thread::spawn(move || {
                let share = (load.connections + thread) / THREADS;
                let connections = connect(load.address, share);
                // Also after a failure, or the others would wait for ever.
                start.wait();
                let from = Instant::now() + warm_up;
                drive(connections?, &load.requests, Window { from, until: from + length })
            })
        })
        .collect();
    start.wait();
    thread::sleep(warm_up);
    let before = sample()?;
    thread::sleep(length);
    let after = sample()?;
    let mut tally = Tally::default();
    for thread in threads {
        let counted =
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the load panicked"))?;
        tally.add(counted.context("driving the load")?);
    }
    Ok((tally, before, after))
}

fn connect(address: SocketAddr, count: usize) -> io::Result<Vec<Connecting>> {
    let one = |_| {
        let stream = Connecting::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    (0..count).map(one).collect()
}

/// Drives the connections of one thread.
fn drive(streams: Vec<Connecting>, requests: &Arc<Requests>, window: Window) -> io::Result<Tally> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let tally = Rc::new(RefCell::new(Tally::default()));
    local.block_on(&runtime, async {
        let mut connections = Vec::new();
        for stream in streams {
            let stream = TcpStream::from_std(stream)?;
            let (requests, tally) = (requests.clone(), tally.clone());
            connections.push(tokio::task::spawn_local(async move {
                let repeating = repeat(stream, &requests, window, &tally);
                let limit = (window.until + GRACE).into();
                if !matches!(tokio::time::timeout_at(limit, repeating).await, Ok(Ok(()))) {
                    tally.borrow_mut().errors += 1;
                }
            }));
        }
        for connection in connections {
            connection.await.map_err(io::Error::other)?;
        }
        Ok::<_, io::Error>(())
    })?;
    Ok(tally.take())
}

async fn repeat(
    mut stream: TcpStream,
    requests: &Requests,
    window: Window,
    tally: &RefCell<Tally>,
) -> io::Result<()> {
    let mut request = Vec::new();
    let mut incoming = Incoming::default();
    let mut sent = Instant::now();
    while sent < window.until {
        requests.write(None, &mut request);
        stream.write_all(&request).await?;
        let status = loop {
            let bytes = stream.read(incoming.room()).await?;
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(status) = incoming.arrived(bytes) {
                break status;
            }
        };
        let done = Instant::now();
        let counts = (window.from..window.until).contains(&done);
        tally.borrow_mut().answered(status, done - sent, counts);
        sent = done;
    }
    Ok(())
}

//! Many senders at once.

use super::wire::{Request, Response, Wire};
use std::io::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// Sends every request on a connection of its own, all of them finished in the same instant: the
/// last byte of each is held back until all others are on the wire.
pub async fn at_once(requests: Vec<(SocketAddr, Request)>) -> Vec<Response> {
    let barrier = Arc::new(Barrier::new(requests.len()));
    let mut sending = JoinSet::new();
    for (to, request) in requests {
        let barrier = barrier.clone();
        sending.spawn(async move {
            let bytes = request.bytes();
            let mut wire = Wire::connect(to).await?;
            let (most, last) = bytes.split_at(bytes.len() - 1);
            wire.send(most).await?;
            barrier.wait().await;
            wire.send(last).await?;
            wire.answer_to(&request.method).await
        });
    }
    let answers: Result<Vec<Response>> = sending.join_all().await.into_iter().collect();
    answers.expect("every request is answered")
}

/// Sends requests over so many connections, on each one after the other. What is heard of each, in
/// their order: `None` where the connection broke off. `heard` counts the answers meanwhile.
pub async fn send_all(
    to: SocketAddr,
    requests: Vec<Request>,
    connections: usize,
    heard: Arc<AtomicUsize>,
) -> Vec<Option<Response>> {
    let requests = Arc::new(requests);
    let next = Arc::new(AtomicUsize::new(0));
    let mut sending = JoinSet::new();
    for _ in 0..connections {
        let (requests, next, heard) = (requests.clone(), next.clone(), heard.clone());
        sending.spawn(async move {
            let mut answers = Vec::new();
            let mut wire = None;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(request) = requests.get(index) else { return answers };
                let answer = exchange(&mut wire, to, request).await;
                if answer.is_ok() {
                    heard.fetch_add(1, Ordering::Relaxed);
                } else {
                    wire = None;
                }
                answers.push((index, answer.ok()));
            }
        });
    }
    let mut answers: Vec<_> = sending.join_all().await.into_iter().flatten().collect();
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// One request on a connection that is made when there is none.
async fn exchange(wire: &mut Option<Wire>, to: SocketAddr, request: &Request) -> Result<Response> {
    if wire.is_none() {
        *wire = Some(Wire::connect(to).await?);
    }
    let answer = wire.as_mut().expect("connected").exchange(request).await?;
    if answer.header("connection") == Some("close") {
        *wire = None;
    }
    Ok(answer)
}

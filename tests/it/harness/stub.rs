//! A destination to order: answers from a list, and a record of all that it was sent.

use super::answer::Answer;
use super::message::split_head;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header lines; names are lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// When its last byte had come.
    pub begun: Instant,
    /// When it was answered or broken off; `None` while it is held.
    pub ended: Option<Instant>,
}

/// The destination.
#[derive(Clone)]
pub struct Stub {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By what the body contains, the most particular first. The last answer of a list repeats.
    scripts: Vec<(Vec<u8>, VecDeque<Answer>)>,
    received: Vec<Received>,
    open: usize,
    open_most: usize,
}

impl Received {
    /// The value of a header as text, if there is one.
    pub fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }
}

impl Stub {
    /// Answers 200 for ever.
    pub async fn ok() -> Self {
        Self::start([Answer::ok()]).await
    }

    /// Answers from a list; the last one repeats.
    pub async fn start(answers: impl Into<VecDeque<Answer>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let stub = Self { address, state: Arc::default() };
        stub.state().scripts.push((Vec::new(), answers.into()));
        let serving = stub.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        stub
    }

    /// Another list for requests whose body contains a text.
    pub fn when(&self, contains: &str, answers: impl Into<VecDeque<Answer>>) {
        self.state().scripts.insert(0, (contains.as_bytes().to_vec(), answers.into()));
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/in", self.address)
    }

    /// All requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    /// How many requests there were.
    pub fn calls(&self) -> usize {
        self.state().received.len()
    }

    /// The most requests that were open at one time.
    pub fn open_most(&self) -> usize {
        self.state().open_most
    }

    /// Waits until there were so many requests, and returns them.
    pub async fn until(&self, calls: usize) -> Vec<Received> {
        super::until(&format!("{calls} requests at the stub"), async || {
            Some(self.received()).filter(|received| received.len() >= calls)
        })
        .await
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut unread = Vec::new();
        while let Some(received) = read(&mut stream, &mut unread).await {
            let (index, answer) = self.begin(received);
            answer.wait().await;
            // Before the answer is out: the next request may come at once.
            self.end(index);
            if !answer.carry_out(&mut stream).await {
                return;
            }
        }
    }

    fn begin(&self, received: Received) -> (usize, Answer) {
        let mut state = self.state();
        state.open += 1;
        state.open_most = state.open_most.max(state.open);
        let fits = |text: &[u8]| {
            text.is_empty() || received.body.windows(text.len()).any(|part| part == text)
        };
        let script = state.scripts.iter_mut().find(|(text, _)| fits(text));
        let (_, answers) = script.expect("the last list fits always");
        let answer = match answers.len() {
            1 => answers.front().cloned(),
            _ => answers.pop_front(),
        };
        state.received.push(received);
        (state.received.len() - 1, answer.expect("a list is never empty"))
    }

    fn end(&self, index: usize) {
        let mut state = self.state();
        state.open -= 1;
        state.received[index].ended = Some(Instant::now());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request with a body of known length; `None` when the client closes.
async fn read(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<Received> {
    loop {
        if let Some((line, headers, end)) = split_head(unread) {
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length =
                length.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok());
            let length: usize = length.unwrap_or_default();
            if unread.len() >= end + length {
                let mut words = line.split(' ').map(str::to_owned);
                let (method, path) = (words.next()?, words.next()?);
                let body = unread[end..end + length].to_vec();
                unread.drain(..end + length);
                let (begun, ended) = (Instant::now(), None);
                return Some(Received { method, path, headers, body, begun, ended });
            }
        }
        if stream.read_buf(unread).await.ok()? == 0 {
            return None;
        }
    }
}

//! A server on 127.0.0.1 with answers to order. Test code only; it never reaches a build.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// What becomes of a request.
pub enum Answer {
    /// These bytes; the connection stays open.
    Text(&'static str),
    /// These bytes, then the same chunk until the client has enough.
    Endless(&'static str),
    /// Sends the request's head back as the body.
    Echo,
    /// Nothing, and an orderly close.
    Fin,
    /// Nothing, and a reset.
    Reset,
    /// Nothing; the connection stays open.
    Silence,
}

/// Says that all is well; the connection stays open.
pub const OK: Answer = Answer::Text("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");

/// A server that answers one request after the other from a list.
#[derive(Clone, Default)]
pub struct Stub {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    /// What it was sent, head and body.
    pub requests: Arc<Mutex<Vec<String>>>,
    /// How many connections were made to it.
    pub connections: Arc<Mutex<usize>>,
}

impl Stub {
    /// Listens; the URL leads to it.
    pub async fn start(answers: impl Into<VecDeque<Answer>>) -> (Self, Url) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/in?q=1", listener.local_addr().unwrap());
        let stub = Self { answers: Arc::new(Mutex::new(answers.into())), ..Self::default() };
        let serving = stub.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *serving.connections.lock().unwrap() += 1;
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        (stub, Url::parse(&url).unwrap())
    }

    async fn serve(self, mut stream: TcpStream) {
        while let Some(request) = read_request(&mut stream).await {
            self.requests.lock().unwrap().push(request.clone());
            let answer = self.answers.lock().unwrap().pop_front();
            match answer.expect("more requests than answers") {
                Answer::Text(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                Answer::Endless(chunk) => {
                    let head = "HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n";
                    stream.write_all(head.as_bytes()).await.unwrap();
                    while stream.write_all(chunk.as_bytes()).await.is_ok() {}
                }
                Answer::Echo => {
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len());
                    stream.write_all((head + &request).as_bytes()).await.unwrap();
                }
                Answer::Fin => return,
                Answer::Reset => return stream.set_zero_linger().unwrap(),
                Answer::Silence => {}
            }
        }
    }
}

/// One request with a body of known length or none; `None` when the client closes.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length = length.unwrap_or("0");
            if bytes.len() >= head + 4 + length.parse::<usize>().unwrap() {
                return Some(String::from_utf8(bytes).unwrap());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

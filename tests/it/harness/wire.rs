//! HTTP/1.1 by hand: sends exactly the bytes it is told, and reads what comes back.
//!
//! Ordinary clients repair what they are given: they join headers, add lengths, hide interim
//! answers. Here nothing is repaired.

use super::ledger::PATIENCE;
use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, TcpListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it will stand on the wire.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header lines in their order, in this spelling.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Header lines; names are lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A connection.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { method, path, headers: Vec::new(), body: Vec::new() }
    }

    /// A POST of a body; where to is said when it is sent.
    pub fn post(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", "/") }
    }

    /// With another path.
    pub fn to(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// With one more header line.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Without any header of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// With one header of this name and no other.
    pub fn with(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).header(name, value)
    }

    /// The head with further lines, up to and including the empty one.
    pub fn head(&self, more: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nHost: posthouse\r\n", self.method, self.path);
        for (name, value) in more {
            bytes += &format!("{name}: {value}\r\n");
        }
        let mut bytes = bytes.into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        bytes.extend(b"\r\n");
        bytes
    }

    /// Head and body, with its length.
    pub fn bytes(&self) -> Vec<u8> {
        let length = self.body.len().to_string();
        [self.head(&[("Content-Length", &length)]), self.body.clone()].concat()
    }

    /// Head and body in chunks that end at these places of the body.
    pub fn chunked(&self, ends: &[usize]) -> Vec<u8> {
        let mut bytes = self.head(&[("Transfer-Encoding", "chunked")]);
        let mut begin = 0;
        for end in ends.iter().copied().chain([self.body.len()]) {
            let chunk = &self.body[begin..end];
            let size = format!("{:x}\r\n", chunk.len());
            bytes.extend([size.as_bytes(), chunk, b"\r\n"].concat());
            begin = end;
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }
}

impl Response {
    /// The value of a header, if there is one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {}: {}", self.status, self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Wire {
    /// Connects.
    pub async fn connect(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, unread: Vec::new() })
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends a request and reads its answer.
    pub async fn exchange(&mut self, request: &Request) -> Result<Response> {
        self.send(&request.bytes()).await?;
        self.answer_to(&request.method).await
    }

    /// Reads the answer to a request of any method but HEAD.
    pub async fn answer(&mut self) -> Result<Response> {
        self.answer_to("POST").await
    }

    /// Reads an answer; an interim one is an answer too.
    pub async fn answer_to(&mut self, method: &str) -> Result<Response> {
        tokio::time::timeout(PATIENCE, self.read_answer(method)).await?
    }

    /// Waits until the other side closes the connection; the bytes that still came.
    pub async fn rest(&mut self) -> Result<Vec<u8>> {
        let mut rest = std::mem::take(&mut self.unread);
        match tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await? {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
            _ => Ok(rest),
        }
    }

    /// Whether the other side has closed the connection already. What it sent before is kept.
    pub fn is_closed(&mut self) -> bool {
        let mut some = [0; 4096];
        loop {
            match self.stream.try_read(&mut some) {
                Ok(0) => return true,
                Ok(bytes) => self.unread.extend_from_slice(&some[..bytes]),
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    async fn read_answer(&mut self, method: &str) -> Result<Response> {
        let (line, headers) = loop {
            match split_head(&self.unread) {
                Some((line, headers, end)) => {
                    self.unread.drain(..end);
                    break (line, headers);
                }
                None => self.more().await?,
            }
        };
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(ErrorKind::InvalidData)?;
        let text = |value: Vec<u8>| value.into_iter().map(char::from).collect();
        let headers = headers.into_iter().map(|(name, value)| (name, text(value))).collect();
        let mut response = Response { status, headers, body: Vec::new() };
        let length = response.header("content-length").and_then(|length| length.parse().ok());
        if method == "HEAD" || status < 200 || matches!(status, 204 | 304) {
        } else if response.header("transfer-encoding") == Some("chunked") {
            response.body = self.chunks().await?;
        } else if let Some(length) = length {
            response.body = self.take(length).await?;
        } else {
            response.body = self.rest().await?;
        }
        Ok(response)
    }

    async fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.unread.windows(2).position(|two| two == b"\r\n") {
                    Some(end) => break end,
                    None => self.more().await?,
                }
            };
            let line = self.take(end + 2).await?;
            let line = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
            body.extend_from_slice(&self.take(size + 2).await?[..size]);
            if size == 0 {
                return Ok(body);
            }
        }
    }

    async fn take(&mut self, bytes: usize) -> Result<Vec<u8>> {
        while self.unread.len() < bytes {
            self.more().await?;
        }
        Ok(self.unread.drain(..bytes).collect())
    }

    async fn more(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.unread).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// The first line, the header lines with names in lower case, and where the head ends; `None` while
/// its end has not come.
pub fn split_head(bytes: &[u8]) -> Option<(String, Vec<(String, Vec<u8>)>, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let mut lines = bytes[..end - 4].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = String::from_utf8_lossy(lines.next()?).into_owned();
    let header = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = String::from_utf8_lossy(&line[..colon]).to_lowercase();
        Some((name, line[colon + 1..].trim_ascii().to_vec()))
    };
    Some((first, lines.filter_map(header).collect(), end))
}

/// A port that is free, and not one of those from which the kernel serves everybody else.
pub fn free_port() -> u16 {
    let candidates = std::iter::repeat_with(|| rand::random_range(20_000..32_000));
    let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("one is free")
}

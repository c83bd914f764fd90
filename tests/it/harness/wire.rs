//! HTTP/1.1 by hand: sends exactly the bytes it is told, and reads what comes back.
//!
//! Ordinary clients repair what they are given: they join headers, add lengths, hide interim
//! answers. Here nothing is repaired.

pub use super::message::{Request, Response};

use super::ledger::PATIENCE;
use super::message::split_head;
use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, TcpListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection.
pub struct Wire {
    stream: TcpStream,
    unread: Vec<u8>,
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

/// A port that is free, and not one of those from which the kernel serves everybody else.
pub fn free_port() -> u16 {
    let candidates = std::iter::repeat_with(|| rand::random_range(20_000..32_000));
    let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("one is free")
}

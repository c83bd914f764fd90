//! What a stub does with a request.

use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// What becomes of a request.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    gate: Option<Gate>,
    delay: Duration,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Answer,
    Close,
    Reset,
}

/// Holds answers back until it is opened.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Answer {
    /// An empty answer.
    pub fn status(status: u16) -> Self {
        let (headers, body, gate, end) = (Vec::new(), Vec::new(), None, End::Answer);
        Self { status, headers, body, gate, delay: Duration::ZERO, end }
    }

    /// 200.
    pub fn ok() -> Self {
        Self::status(200)
    }

    /// No answer: the connection is closed in an orderly way.
    pub fn close() -> Self {
        Self { end: End::Close, ..Self::ok() }
    }

    /// No answer: the connection is reset.
    pub fn reset() -> Self {
        Self { end: End::Reset, ..Self::ok() }
    }

    /// With a header line.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Only once the gate is open.
    pub fn behind(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }

    /// Only after a while, as a slow destination would.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
}

impl Gate {
    /// A closed one.
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.0.send_replace(true);
    }
}

impl Answer {
    /// Waits as long as it says.
    pub(super) async fn wait(&self) {
        if let Some(gate) = &self.gate {
            let _ = gate.0.subscribe().wait_for(|open| *open).await;
        }
        tokio::time::sleep(self.delay).await;
    }

    /// Does what it says, and whether the connection stays open.
    pub(super) async fn carry_out(&self, stream: &mut TcpStream) -> bool {
        match self.end {
            End::Answer => stream.write_all(&self.bytes()).await.is_ok(),
            End::Close => false,
            End::Reset => stream.set_zero_linger().is_err(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let length = self.body.len();
        let mut head = format!("HTTP/1.1 {} Stub\r\nContent-Length: {length}\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

//! Reads answers off a connection, as far as the load needs it: the status and where they end.

/// Bytes of an answer; the longest is far shorter.
pub const ANSWER_BYTES_MAX: usize = 4096;

/// Answers as they arrive on one connection.
pub struct Incoming {
    /// Where to read to, from `filled` on.
    buffer: [u8; ANSWER_BYTES_MAX],
    filled: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Self { buffer: [0; ANSWER_BYTES_MAX], filled: 0 }
    }
}

impl Incoming {
    /// Where the next bytes belong. Never empty before an answer was taken.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    /// Takes note of `bytes` read into the room; the status, once the answer is complete.
    /// There is one request under way at a time, so nothing follows an answer.
    pub fn arrived(&mut self, bytes: usize) -> Option<u16> {
        self.filled += bytes;
        let status = status(&self.buffer[..self.filled])?;
        self.filled = 0;
        Some(status)
    }
}

/// The status of an answer; `None` while it is incomplete.
fn status(bytes: &[u8]) -> Option<u16> {
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..head_end]).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let is_whole = bytes.len() >= head_end + 4 + length.unwrap_or(0);
    // "HTTP/1.1 200 OK"; what cannot be read counts as an error.
    is_whole.then(|| head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0))
}

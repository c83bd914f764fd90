//! A request and an answer of HTTP/1.1, with nothing in them that was not put there.

/// Header lines, in their order.
pub type Lines = Vec<(String, Vec<u8>)>;

/// A request as it will stand on the wire.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header lines in their order, in this spelling.
    pub headers: Lines,
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

/// The first line, the header lines with names in lower case, and where the head ends; `None` while
/// its end has not come.
pub fn split_head(bytes: &[u8]) -> Option<(String, Lines, usize)> {
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

//! The cases of the crate's own catalogue, `providers/vectors`, for those that go through the real
//! program as well.

use super::settings::route;
use super::wire::Request;
use super::world::World;
use serde::Deserialize;
use std::path::Path;

/// What a file says of one provider, as far as it is of use here.
#[derive(Deserialize)]
pub struct Vectors {
    /// The provider's name.
    #[serde(skip)]
    pub provider: String,
    /// How it is tried out.
    #[serde(default)]
    pub trial: Trial,
    /// Signed requests.
    #[serde(default)]
    vector: Vec<Vector>,
    /// Requests before any proof.
    #[serde(default)]
    pub handshake: Vec<Handshake>,
    /// Proved requests that are answered only.
    #[serde(default)]
    pub challenge: Vec<Handshake>,
}

/// How a provider is tried out.
#[derive(Default, Deserialize)]
pub struct Trial {
    secret: Option<String>,
    /// Whether the key asked for is the delivery's.
    pub keeps_key: Option<bool>,
}

#[derive(Deserialize)]
struct Vector {
    expect: String,
    secrets: Vec<String>,
}

/// A handshake and its answer; `none` for what only looks like one.
#[derive(Deserialize)]
pub struct Handshake {
    /// What it is.
    pub name: String,
    method: String,
    url: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    secrets: Vec<String>,
    verify_token: Option<String>,
    #[serde(default)]
    pending: bool,
    /// It is none.
    #[serde(default)]
    pub none: bool,
    /// The status of the answer.
    #[serde(default)]
    pub status: u16,
    /// Header lines of the answer.
    #[serde(default)]
    pub reply_headers: Vec<(String, String)>,
    /// The body of the answer.
    #[serde(default)]
    pub reply: String,
    /// The secret that is kept of it.
    pub plants: Option<String>,
}

/// Of every provider.
pub fn vectors() -> Vec<Vectors> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("providers/vectors");
    let files = std::fs::read_dir(folder).expect("the vectors are there");
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a file of vectors");
        let found: Vectors = toml::from_str(&text).unwrap_or_else(|fault| panic!("{fault}"));
        let provider = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Vectors { provider, ..found }
    };
    let mut all: Vec<Vectors> =
        files.map(|file| read(file.expect("a file of vectors").path())).collect();
    all.sort_by(|one, other| one.provider.cmp(&other.provider));
    all
}

/// A source with its secret in a file, whose deliveries go to the log. Further keys may be given.
pub fn filed(world: &World, name: &str, provider: &str, secret: &str, keys: &str) -> String {
    let secret = format!("file:{}", world.file(&format!("{name}.txt"), secret));
    format!("[sources.{name}]\nprovider = {provider:?}\nsecrets = [{secret:?}]\n{keys}\n")
        + &route(name, "log")
}

impl Vectors {
    /// A secret in the provider's form.
    pub fn secret(&self) -> &str {
        let valid = |vector: &&Vector| vector.expect == "valid";
        let first = || self.vector.iter().find(valid)?.secrets.first();
        self.trial.secret.as_ref().or_else(first).expect("a secret")
    }
}

impl Handshake {
    /// A source as the case wants it. Where the provider's handshakes need a secret and this one
    /// has none, there is none; else any will do.
    pub fn source(&self, world: &World, name: &str, of: &Vectors) -> String {
        let mut keys = String::new();
        if let Some(url) = &self.url {
            keys += &format!("public_url = {:?}\n", url.split('?').next().unwrap_or_default());
        }
        if let Some(token) = &self.verify_token {
            let file = world.file(&format!("{name}.token"), token);
            keys += &format!("verify_token = {:?}\n", format!("file:{file}"));
        }
        if self.pending {
            keys += "pending = true\n";
        }
        let is_needed = of.handshake.iter().any(|other| !other.secrets.is_empty());
        let is_bare = self.pending || is_needed;
        if is_bare && self.secrets.is_empty() && !self.pending {
            keys += "pending = true\n";
        }
        match (self.secrets.first(), is_bare) {
            (None, true) => {
                let source = format!("[sources.{name}]\nprovider = {:?}\n", of.provider);
                source + &keys + &route(name, "log")
            }
            (secret, _) => {
                let secret = secret.map_or(of.secret(), String::as_str);
                filed(world, name, &of.provider, secret, &keys)
            }
        }
    }

    /// Whether it can come by HTTP at all: a header has no line end in it.
    pub fn is_sendable(&self) -> bool {
        !self.headers.iter().any(|(_, value)| value.contains(['\r', '\n']))
    }

    /// The request, to a source of this name.
    pub fn request(&self, name: &str) -> Request {
        let query = self.url.as_ref().and_then(|url| url.split_once('?'));
        let query = query.map_or(String::new(), |(_, query)| format!("?{query}"));
        let request = Request::new(&self.method, &format!("/hooks/{name}{query}"));
        let add = |request: Request, (name, value): &(String, String)| request.header(name, value);
        let request = self.headers.iter().fold(request, add);
        Request { body: self.body.clone().into(), ..request }
    }
}

//! The form of `vectors/<name>.toml`.

use providers::Provider;
use serde::Deserialize;

/// Where requests go unless a case says otherwise.
pub const URL: &str = "https://hooks.example.com/hooks/source";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Said where no valid vector is `real`, and why that is so.
    pub unpublished: Option<String>,
    pub proof: Proof,
    #[serde(default)]
    pub trial: Trial,
    #[serde(default)]
    pub vector: Vec<Vector>,
    #[serde(default)]
    pub challenge: Vec<Challenge>,
    #[serde(default)]
    pub handshake: Vec<Handshake>,
    #[serde(default)]
    pub event: Vec<Event>,
}

/// Where the proof of this sender stands, so that the battery knows what to bend.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Headers, lower case, that carry a part of it.
    #[serde(default)]
    pub headers: Vec<String>,
    /// Between the entries of a header that lists several signatures.
    #[serde(default = "space")]
    pub separator: char,
    /// Headers among them that the sender itself repeats.
    #[serde(default)]
    pub repeatable: Vec<String>,
    /// Whether fields of the body carry it.
    #[serde(default)]
    pub in_body: bool,
    /// Whether a checksum of the body is signed: too weak to count, and yet any one byte shows.
    #[serde(default)]
    pub by_checksum: bool,
    /// Whether the URL is signed, or carries it.
    #[serde(default)]
    pub url: bool,
    /// Headers whose presence says that a time is proved along; `*` for every request.
    #[serde(default)]
    pub timed: Vec<String>,
    /// Whether the proof says itself when it ends, to the second.
    #[serde(default)]
    pub expires: bool,
    /// Seconds that the time may be off.
    #[serde(default = "five_minutes")]
    pub tolerance_s: i64,
}

fn space() -> char {
    ' '
}

fn five_minutes() -> i64 {
    300
}

/// How a request is signed here for trying a source out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trial {
    /// Whether it can be: not where only the sender has the key.
    pub signs: bool,
    /// Secret, else that of the first valid vector.
    pub secret: Option<String>,
    pub kind: String,
    /// Whether key and kind asked for can be read back.
    pub keeps_key: bool,
    pub keeps_kind: bool,
    /// A body of one's own, to carry the key asked for.
    pub own_body: String,
    /// Text that must survive of it.
    pub own_keeps: String,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            signs: true,
            secret: None,
            kind: "invoice.paid".to_owned(),
            keeps_key: true,
            keeps_kind: true,
            own_body: r#"{"n":1.0,"id":"evt_old"}"#.to_owned(),
            own_keeps: r#""n":1.0"#.to_owned(),
        }
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub name: String,
    pub origin: String,
    pub source: String,
    pub method: String,
    pub url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub secrets: Vec<String>,
    pub now_unix: i64,
    /// Seconds of tolerance, where the case is about another than usual.
    pub tolerance_s: Option<i64>,
    /// How much of path and query decides, where it is not as `proof.url` says.
    pub url_decides: Option<Decides>,
    pub expect: String,
    pub why: String,
    #[serde(default)]
    pub key: Vec<Key>,
    /// The headers of the proof in this request, where they are not those of the file.
    pub proof: Option<Vec<String>>,
}

/// How much of a URL decides.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Decides {
    All,
    Some,
    None,
}

/// A remote key: what would be found at a URL, or for an id.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    pub url: Option<String>,
    pub id: Option<String>,
    /// What must be posted to get it.
    pub post: Option<String>,
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    pub name: String,
    pub method: String,
    pub url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub secrets: Vec<String>,
    pub now_unix: i64,
    #[serde(default)]
    pub key: Vec<Key>,
    pub status: u16,
    pub reply: String,
    #[allow(dead_code, reason = "for the reader of the file")]
    pub why: String,
}

/// A request before any proof: what it is answered, or that it must be proved as any other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handshake {
    pub name: String,
    pub method: String,
    pub url: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub secrets: Vec<String>,
    pub verify_token: Option<String>,
    #[serde(default)]
    pub pending: bool,
    /// It is not one.
    #[serde(default)]
    pub none: bool,
    #[serde(default)]
    pub status: u16,
    #[serde(default)]
    pub content_type: String,
    #[serde(default)]
    pub reply_headers: Vec<(String, String)>,
    #[serde(default)]
    pub reply: String,
    pub plants: Option<String>,
    #[allow(dead_code, reason = "for the reader of the file")]
    pub why: String,
}

/// A request and the events that are read out of it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub name: String,
    #[serde(default = "post")]
    pub method: String,
    pub url: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    pub body: String,
    #[serde(default)]
    pub expect: Vec<Expected>,
    /// It is refused as unreadable.
    #[serde(default)]
    pub unreadable: bool,
    /// It is genuine and nothing of it is recorded.
    #[serde(default)]
    pub nothing: bool,
    /// The name of the case that it is another delivery of: the keys must be the same, and the
    /// content too, but for volatile fields.
    pub retry_of: Option<String>,
    /// The same key with other content, as a forger or a sloppy sender would have it.
    #[serde(default)]
    pub conflicts: bool,
    /// The name of the case that it must share no key with.
    pub distinct_from: Option<String>,
}

fn post() -> String {
    "POST".to_owned()
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The key, or `digest` for any digest.
    pub key: String,
    pub kind: String,
    pub entity: Option<String>,
    pub occurred_at_us: Option<i64>,
    pub sequence: Option<i64>,
    /// The event's own body, where it is a part of the request's.
    pub part: Option<String>,
}

pub fn load(provider: &dyn Provider) -> File {
    // The same folder for the package of `fuzz/`.
    let folder = env!("CARGO_MANIFEST_DIR").trim_end_matches("/fuzz");
    let path = format!("{folder}/vectors/{}.toml", provider.name());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| {
        panic!(
            "vectors/{}.toml is missing. Add it with a [proof] that names the headers, a valid \
                 [[vector]] and an [[event]]: README.md, steps 5 and 6",
            provider.name()
        )
    });
    toml::from_str(&text).unwrap_or_else(|fault| panic!("vectors/{}: {fault}", provider.name()))
}

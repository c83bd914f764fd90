//! A sender for what no sender in use shows by itself on demand: batches of any shape, handshakes,
//! secrets that are handed over, keys that live elsewhere. It signs as GitHub does.
//!
//! It is not in the program, so a program of the tests' own serves it: [`Launch::with_samples`].

use super::launch::SAMPLES;
use posthouse::app::{Role, serve};
use posthouse::config::{Config, Files, process_environment};
use posthouse::source::Source;
use providers::json::{self, Item, ItemsFault};
use providers::{
    Event, Facts, Handshake, Handshaking, KeyWanted, Keys, NoKeys, Part, Position, Proved,
    Provider, Rejection, Reply, Request, Secret, Visit, Window, find, text,
};
use std::sync::Arc;

/// Where a document with the key may be, by `x-key-url`.
const HOSTS: &[&str] = &["*.keys.test", "localhost"];

/// Hosts that may be visited, by `x-visit`.
const VISITED: &[&str] = &["localhost"];

/// Where the list with the key is, by `x-key-id`: lines of an id, a space and the key.
const LIST: &str = "https://localhost/list";

struct Sampler;

impl Provider for Sampler {
    fn name(&self) -> &'static str {
        "sampler"
    }

    fn facts(&self) -> Facts {
        let (title, proof, key) = ("Sampler", "as GitHub's", "`/id`");
        Facts { title, proof, key, entity: "`/about`", position: "unknown" }
    }

    fn verify<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
    ) -> Result<Proved<'r>, Rejection> {
        self.verify_with_keys(request, secret, window, &NoKeys)
    }

    fn verify_with_keys<'r>(
        &self,
        request: &Request<'r>,
        secret: &Secret,
        window: Window,
        keys: &dyn Keys,
    ) -> Result<Proved<'r>, Rejection> {
        let github = find("github").expect("it is listed");
        let Some(wanted) = wanted(request)? else {
            return github.verify(request, secret, window);
        };
        let found = keys.get(&wanted).map(|text| String::from_utf8_lossy(text).into_owned());
        let key = found.and_then(|text| match &wanted {
            KeyWanted::Document { .. } => Some(text),
            KeyWanted::Listed { id, .. } => {
                let mut lines = text.lines().filter_map(|line| line.split_once(' '));
                lines.find(|(other, _)| other == id).map(|(_, key)| key.to_owned())
            }
        });
        let key = key.and_then(|key| Secret::new(key.trim_end()));
        github.verify(request, &key.ok_or(Rejection::KeyWanted(wanted))?, window)
    }

    fn events(&self, proved: &Proved<'_>) -> Result<Vec<Event>, Rejection> {
        let is_form = proved
            .request()
            .header("content-type")
            .is_ok_and(|kind| kind == b"application/x-www-form-urlencoded");
        if is_form {
            let field = text::form_field(proved.body(), "events").unwrap_or_default();
            let items = json::items(&field, "")?;
            return items
                .iter()
                .map(|item| event(item, Some(Part::Bytes(item.json.into()))))
                .collect();
        }
        match json::items(proved.body(), "/events") {
            Err(ItemsFault::NoArray) => {
                let whole = Item { range: 0..proved.body().len(), json: proved.body() };
                Ok(vec![event(&whole, None)?])
            }
            items => {
                let part = |item: &Item<'_>| Some(Part::Slice(item.range.clone()));
                items?.iter().map(|item| event(item, part(item))).collect()
            }
        }
    }

    fn visit(&self, proved: &Proved<'_>) -> Option<Visit> {
        let url = proved.request().header("x-visit").ok()?;
        Some(Visit { url: String::from_utf8_lossy(url).into_owned(), hosts: VISITED })
    }

    /// GET with the right token: the challenge. OPTIONS: the origin that may send. POST with
    /// `x-hook-secret`, only while pending: the secret is to be kept.
    fn handshake(&self, request: &Request<'_>, at: &Handshaking<'_>) -> Option<Handshake> {
        let answer = |reply, plants| Some(Handshake { reply, plants });
        match request.method {
            "GET" | "HEAD" => {
                let token = request.query_field("token")?;
                let is_known =
                    at.verify_token.is_some_and(|known| *known.expose().as_bytes() == *token);
                let challenge = request.query_field("challenge").filter(|_| is_known)?;
                answer(Reply::text(200, challenge.into_owned()), None)
            }
            "OPTIONS" => {
                let origin = request.header("webhook-request-origin").ok()?;
                let origin = String::from_utf8_lossy(origin).into_owned();
                let headers = vec![("webhook-allowed-origin", origin)];
                answer(Reply { headers, ..Reply::empty(200) }, None)
            }
            _ => {
                let secret = request.header("x-hook-secret").ok().filter(|_| at.pending)?;
                let secret = String::from_utf8_lossy(secret).into_owned();
                let headers = vec![("x-hook-secret", secret.clone())];
                answer(Reply { headers, ..Reply::empty(204) }, Some(secret))
            }
        }
    }
}

fn wanted(request: &Request<'_>) -> Result<Option<KeyWanted>, Rejection> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let url = request.header_if_present("x-key-url")?.map(text);
    let document = url.map(|url| KeyWanted::Document { url, hosts: HOSTS });
    let id = request.header_if_present("x-key-id")?.map(text);
    let listed = id.map(|id| KeyWanted::Listed { endpoint: LIST, id, post: None });
    Ok(document.or(listed))
}

fn event(item: &Item<'_>, part: Option<Part>) -> Result<Event, Rejection> {
    let fields = json::fields(item.json, ["/id", "/type", "/about"])?;
    let [key, kind, entity] = json::texts(&fields).map(|text| text.map(str::to_owned));
    let key = key.ok_or(Rejection::Unreadable("an event has no id"))?;
    let (kind, position) = (kind.unwrap_or_default(), Position::default());
    Ok(Event { key, kind, entity, position, volatile: &[], part })
}

/// Not a test: the program that serves it, under every source whose name begins with `sample`.
#[test]
#[ignore = "is started by cases with samples"]
fn program() {
    if std::env::var_os(SAMPLES).is_none() {
        return;
    }
    posthouse::telemetry::start_logging();
    let config = Config::load(None, vec![], process_environment(), Files::MayCreate);
    let mut config = config.unwrap_or_else(|faults| panic!("{faults:?}"));
    for source in config.sources.values_mut().filter(|s| s.name.starts_with("sample")) {
        *source = Arc::new(Source { provider: &Sampler, ..Source::clone(source) });
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(serve(config, Role::All)).expect("it serves");
}

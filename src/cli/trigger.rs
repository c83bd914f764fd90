//! `trigger`: sends an event to a source as its provider would, once or many times, and says in
//! one line what became of it. For trying a source out, and for tests.

mod curl;
mod draft;
mod edit;

use super::client::{base, causes, client, unreachable};
use super::failure::Failure;
use super::settings::reached_at;
use super::tally::{Meaning, Tally};
use super::{Format, Global, print};
use crate::config::{Config, Files, process_environment};
use crate::source::Source;
use clap::{Args, ValueEnum};
use draft::Plan;
use futures_util::StreamExt;
use providers::{Coverage, Signed};
use reqwest::{Client, Url};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any provider waits.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(super) struct Trigger {
    /// The source's name, as in its path
    source: String,
    /// The kind of event, such as push or invoice.paid
    event: String,
    /// The body to send; - for standard input [default: an example of the kind]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// The provider's id of the delivery [default: a random one]
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// How many times to send it
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    repeat: u64,
    /// How many requests may be under way at once
    #[arg(long, value_name = "C", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1024))]
    concurrency: u64,
    /// Every request has an id of its own
    #[arg(long)]
    new_keys: bool,
    /// Changes a byte of the body once it is signed: every request must then be refused
    #[arg(long)]
    tamper: bool,
    /// Prints the signed request instead of sending it
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["new_keys", "repeat"])]
    print: Option<PrintAs>,
    /// The base URL of the server [default: at server.listen of the configuration]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Forms of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PrintAs {
    /// A command for a shell.
    Curl,
}

/// What one request came to.
enum Sent {
    Answered(u16, Value),
    Unanswered(reqwest::Error),
}

impl Trigger {
    pub(super) async fn run(&self, global: &Global) -> Result<(), Failure> {
        // A key of the configuration never begins with a slash, a JSON pointer always does.
        let (changes, settings): (Vec<_>, Vec<_>) =
            global.set.iter().cloned().partition(|(key, _)| key.starts_with('/'));
        let file = global.config.as_deref();
        let config = Config::load(file, settings, process_environment(), Files::Untouched)
            .map_err(|faults| Failure::of_configuration(&faults))?;
        let source = self.find(&config)?;
        let at = match &self.url {
            Some(url) => base(url)?,
            None => base(&format!("http://{}", reached_at(config.server.listen)))?,
        };
        let body = self.file.as_deref().map(contents).transpose()?;
        let (event, tamper) = (&self.event, self.tamper);
        let is_named = self.key.is_some();
        let plan = Plan { source: &source, event, body, changes, is_named, tamper };
        let mut url = at.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["hooks", &*source.name]);
        }
        url.set_query(plan.query()?.as_deref());
        if self.print == Some(PrintAs::Curl) {
            let signed = plan.sign(&self.key.clone().unwrap_or_else(random_key))?;
            return print::text(&curl::command(url.as_str(), &signed));
        }
        let (tally, unanswered) = self.send_all(&plan, &url).await?;
        let refusal = source.provider.refusal_status();
        match global.output {
            Format::Table => print::text(&format!("{}\n", tally.line(refusal)))?,
            Format::Json => print::json(&tally.json())?,
        }
        match unanswered {
            Some(error) if tally.count(Meaning::Failed) == self.repeat => {
                return Err(unreachable(&at, &error));
            }
            _ => {}
        }
        for (reason, count) in &tally.reasons {
            print::remark(&format!("{count} failed: {reason}"));
        }
        self.judge(&source, &tally)
    }

    fn find(&self, config: &Config) -> Result<Arc<Source>, Failure> {
        config.sources.get(&*self.source).cloned().ok_or_else(|| {
            let names: Vec<&str> = config.sources.keys().map(|name| &**name).collect();
            let (name, names) = (&self.source, names.join(", "));
            Failure::NotFound(format!("there is no source {name:?}; there are: {names}"))
        })
    }

    /// Sends everything. The second value is one of the requests that nobody answered.
    async fn send_all(
        &self,
        plan: &Plan<'_>,
        url: &Url,
    ) -> Result<(Tally, Option<reqwest::Error>), Failure> {
        let client = client(url.scheme())?;
        let key = self.key.clone().unwrap_or_else(random_key);
        // Repeats are the same bytes, as a provider's are; they are signed once.
        let first = plan.sign(&key)?;
        let requests = futures_util::stream::iter(0..self.repeat).map(|n| {
            let (client, first, key) = (&client, &first, &key);
            async move {
                if !self.new_keys || n == 0 {
                    return Ok(send(client, url, first).await);
                }
                let key = self.key.as_ref().map_or_else(random_key, |_| format!("{key}-{n}"));
                Ok::<_, Failure>(send(client, url, &plan.sign(&key)?).await)
            }
        });
        let mut answers = requests.buffer_unordered(self.concurrency as usize);
        let (mut tally, mut unanswered) = (Tally::default(), None);
        while let Some(answer) = answers.next().await {
            match answer? {
                Sent::Answered(status, body) => count(&mut tally, plan.source, status, &body),
                Sent::Unanswered(error) => {
                    tally.failed(causes(&error));
                    unanswered = Some(error);
                }
            }
        }
        Ok((tally, unanswered))
    }

    /// Whether what happened is what was wanted.
    fn judge(&self, source: &Source, tally: &Tally) -> Result<(), Failure> {
        let failed = |text: &str| Err(Failure::Failed(text.to_owned()));
        match (self.tamper, tally.any_taken()) {
            (true, _) if tally.all_rejected() => Ok(()),
            (true, true) if source.unsigned || source.provider.coverage() != Coverage::Body => {
                failed("a changed body was taken: this source's proof does not cover the body")
            }
            (true, true) => failed("a changed body was taken"),
            (true, false) => failed("not every request was refused as not proved"),
            (false, true) => Ok(()),
            (false, false) if tally.all_rejected() => failed(
                "the server refuses the signature: it has another secret for this source, or its \
                 clock is off",
            ),
            (false, false) if tally.count(Meaning::Conflict) > 0 => {
                failed("the key is in use for other content; that delivery stands")
            }
            (false, false) => failed("no request was accepted"),
        }
    }
}

/// Counts an answer, by the words in it where it has them.
fn count(tally: &mut Tally, source: &Source, status: u16, body: &Value) {
    let several = body["deliveries"].as_array();
    let deliveries = several.map_or_else(|| std::slice::from_ref(body), Vec::as_slice);
    let verdicts: Vec<_> = deliveries
        .iter()
        .filter_map(|one| Some((Meaning::of(one["status"].as_str()?)?, one["delivery"].as_str()?)))
        .collect();
    for (meaning, delivery) in &verdicts {
        tally.add(*meaning);
        tally.deliveries.insert((*delivery).to_owned());
    }
    match status {
        _ if !verdicts.is_empty() => {}
        200..300 => tally.add(Meaning::Answered),
        401 => tally.add(Meaning::Rejected),
        status if status == source.provider.refusal_status() => tally.add(Meaning::Rejected),
        404 => tally.failed("HTTP 404: the server has no such source, or it is disabled".into()),
        status => tally.failed(format!("HTTP {status}")),
    }
}

async fn send(client: &Client, url: &Url, signed: &Signed) -> Sent {
    let mut request = client.post(url.clone()).timeout(TIMEOUT).body(signed.body.clone());
    for (name, value) in &signed.headers {
        request = request.header(name, value);
    }
    let answer = match request.send().await {
        Ok(answer) => answer,
        Err(error) => return Sent::Unanswered(error),
    };
    let status = answer.status().as_u16();
    match answer.bytes().await {
        Ok(body) => Sent::Answered(status, serde_json::from_slice(&body).unwrap_or_default()),
        Err(error) => Sent::Unanswered(error),
    }
}

/// A random id in the usual form, a UUID of version 4.
fn random_key() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(bytes);
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

fn contents(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = match path == Path::new("-") {
        true => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
        }
        false => std::fs::read(path),
    };
    read.map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))
}

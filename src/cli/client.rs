//! The client of the admin API: one request, one answer, and the failure that a refusal stands
//! for. No redirect is followed and no proxy used: the token would go with them.

use super::Global;
use super::failure::Failure;
use super::settings::{load_for_client, reached_at};
use crate::config::Config;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url, redirect};
use serde_json::Value;
use std::time::Duration;

/// Time to connect to a server that is usually on the same machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for a list or a body.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for a change: a replay of a month of deliveries takes minutes.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(900);

/// The admin API of the running server.
pub(super) struct Api {
    client: Client,
    base: Url,
    token: Option<String>,
    /// Where the token comes from, for the one who has to mend it.
    origin: String,
}

impl Api {
    /// Finds the server and the token: flags and environment first, then the configuration, which
    /// is read only when it is needed.
    pub(super) fn new(global: &Global) -> Result<Self, Failure> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let url = global.admin_url.clone().or_else(|| variable("POSTHOUSE_ADMIN_URL"));
        let token = variable("POSTHOUSE_ADMIN_TOKEN");
        let config = match (&url, &token) {
            (Some(_), Some(_)) => None,
            _ => Some(configuration(global)?),
        };
        let base = match (url, &config) {
            (Some(url), _) => base(&url)?,
            (None, Some(config)) => base(&format!("http://{}", reached_at(config.admin.listen)))?,
            (None, None) => return Err(Failure::Usage("--admin-url is needed".into())),
        };
        let (token, origin) = match (token, &config) {
            (Some(token), _) => (Some(token), "POSTHOUSE_ADMIN_TOKEN".to_owned()),
            (None, Some(config)) => kept_token(config),
            (None, None) => (None, String::new()),
        };
        Ok(Self { client: client(base.scheme())?, base, token, origin })
    }

    /// Reads something. An empty value of the query is left out.
    pub(super) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<Value, Failure> {
        let mut url = self.at(path);
        for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
            url.query_pairs_mut().append_pair(name, value);
        }
        read(self.send(self.client.request(Method::GET, url).timeout(READ_TIMEOUT)).await?).await
    }

    /// Reads bytes.
    pub(super) async fn bytes(&self, path: &[&str]) -> Result<Vec<u8>, Failure> {
        let request = self.client.request(Method::GET, self.at(path)).timeout(READ_TIMEOUT);
        let answer = self.send(request).await?;
        Ok(answer.bytes().await.map_err(broken_off)?.into())
    }

    /// Changes something.
    pub(super) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        let request = self.client.request(Method::POST, self.at(path)).timeout(CHANGE_TIMEOUT);
        read(self.send(request.json(body)).await?).await
    }

    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(path);
        }
        url
    }

    /// Sends a request; anything but a 2xx is a failure.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let answer = request.send().await.map_err(|error| unreachable(&self.base, &error))?;
        match answer.status() {
            status if status.is_success() => Ok(answer),
            StatusCode::UNAUTHORIZED if self.token.is_none() => {
                Err(Failure::Usage(format!("the server wants its token, and {}", self.origin)))
            }
            StatusCode::UNAUTHORIZED => {
                Err(Failure::Usage(format!("the server refuses the token of {}", self.origin)))
            }
            status => Err(refused(status, answer).await),
        }
    }
}

/// A client for one scheme. Without TLS no certificates are needed, so that a system that has
/// none can still be asked.
pub(super) fn client(scheme: &str) -> Result<Client, Failure> {
    // An error means that one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .user_agent(concat!("posthouse/", env!("CARGO_PKG_VERSION")));
    if scheme == "http" {
        client = client.tls_certs_only([]);
    }
    client.build().map_err(|error| Failure::Failed(format!("no client: {}", causes(&error))))
}

/// The base of a server's URLs.
pub(super) fn base(text: &str) -> Result<Url, Failure> {
    let wrong = || Failure::Usage(format!("{text:?} is not an http or https URL"));
    let url = Url::parse(text).map_err(|_| wrong())?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong()),
    }
}

/// The server did not answer.
pub(super) fn unreachable(base: &Url, error: &reqwest::Error) -> Failure {
    let host = base.host_str().unwrap_or_default();
    let port = base.port_or_known_default().unwrap_or_default();
    let (base, causes) = (format!("{}://{host}:{port}", base.scheme()), causes(error));
    Failure::Unreachable(format!("{base} does not answer: {causes}; is `posthouse serve` running?"))
}

/// What went wrong beneath an error of the client; it names neither query nor token.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn configuration(global: &Global) -> Result<Config, Failure> {
    load_for_client(global).map_err(|faults| {
        let hint = "to ask a server without its configuration, set POSTHOUSE_ADMIN_URL and \
            POSTHOUSE_ADMIN_TOKEN";
        Failure::Usage(format!("{faults}\n{hint}"))
    })
}

/// The configured token, or the one that the server generated on its first start.
fn kept_token(config: &Config) -> (Option<String>, String) {
    if let Some(token) = config.admin.token() {
        return (Some(token.expose().to_owned()), "admin.token".to_owned());
    }
    let path = config.store.token_path();
    match std::fs::read_to_string(&path) {
        Ok(text) => (Some(text.trim_end().to_owned()), path.display().to_string()),
        Err(error) => (None, format!("{} cannot be read: {error}", path.display())),
    }
}

async fn read(answer: Response) -> Result<Value, Failure> {
    let bytes = answer.bytes().await.map_err(broken_off)?;
    let wrong = |error| Failure::Failed(format!("the server's answer is not JSON: {error}"));
    serde_json::from_slice(&bytes).map_err(wrong)
}

fn broken_off(error: reqwest::Error) -> Failure {
    Failure::Unreachable(format!("the server's answer broke off: {}", causes(&error)))
}

/// What a status other than 2xx stands for.
async fn refused(status: StatusCode, answer: Response) -> Failure {
    let body: Value = answer
        .bytes()
        .await
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let text = match body["error"].as_str() {
        Some(text) => super::print::escape(text),
        None => format!("the server answered {}", status.as_u16()),
    };
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Failure::NotFound(text),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => Failure::Usage(text),
        _ => Failure::Failed(text),
    }
}

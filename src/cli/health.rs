//! `health`: whether the running server is ready. For containers: 0 or 1, nothing else.

use super::client::{base, client, unreachable};
use super::failure::Failure;
use super::settings::{block_on, load_for_client, reached_at};
use super::{Format, Global, print};
use serde_json::Value;
use std::time::Duration;

/// Below the five seconds after which Docker kills the check.
const TIMEOUT: Duration = Duration::from_secs(4);

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    // Docker reserves every other code.
    block_on(ask(global)).map_err(|failure| match failure {
        Failure::NobodyReads => failure,
        failure => Failure::Failed(failure.to_string()),
    })
}

async fn ask(global: &Global) -> Result<(), Failure> {
    let url = global.admin_url.clone().or_else(|| std::env::var("POSTHOUSE_ADMIN_URL").ok());
    let at = match url.filter(|url| !url.is_empty()) {
        Some(url) => base(&url)?,
        None => {
            let config = load_for_client(global)?;
            base(&format!("http://{}", reached_at(config.admin.listen)))?
        }
    };
    let mut url = at.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push("readyz");
    }
    let asked = client(at.scheme())?.get(url).timeout(TIMEOUT).send().await;
    let answer = asked.map_err(|error| unreachable(&at, &error))?;
    let is_ready = answer.status().is_success();
    let body = answer.bytes().await.map_err(|error| unreachable(&at, &error))?;
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    if global.output == Format::Json {
        print::json(&told)?;
    } else {
        let check = |(name, state): (&String, &Value)| {
            format!("{name}: {}\n", print::escape(state.as_str().unwrap_or_default()))
        };
        let checks = told["checks"].as_object();
        let lines: String = checks.into_iter().flatten().map(check).collect();
        print::text(&lines)?;
    }
    if is_ready { Ok(()) } else { Err(Failure::Failed("the server is not ready".into())) }
}

//! Posthouse as a library, with a destination of type `handler`: what the hidden roles share.

use anyhow::anyhow;
use posthouse::app::{App, Role};
use posthouse::config::{Config, Files, process_environment};
use posthouse::deliver::Handler;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One source, delivered to code in this process. Where to listen, the store, and how many jobs
/// run at once come from the environment.
const CONFIGURATION: &str = r#"
[sources.github]
provider = "github"
secrets = ["env:GITHUB_WEBHOOK_SECRET"]

[destinations.bench]
type = "handler"

[[routes]]
source = "github"
destination = "bench"
"#;

/// The checked configuration.
pub fn config() -> anyhow::Result<Config> {
    let environment = process_environment();
    Config::from_text(Some(CONFIGURATION), Vec::new(), environment, Files::MayCreate)
        .map_err(|faults| anyhow!("{faults:?}"))
}

/// Starts Posthouse with the handler.
pub async fn start(config: &Config, role: Role, handler: Arc<dyn Handler>) -> anyhow::Result<App> {
    Ok(App::start(config, role, BTreeMap::from([("bench".to_owned(), handler)])).await?)
}

/// Runs a role to its end, and says what goes wrong in it.
pub fn run(role: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    posthouse::telemetry::start_logging();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(role)
}

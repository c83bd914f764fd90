//! What is said on standard output once everything is ready.

use super::App;
use crate::config::Config;
use std::io::Write;

/// Says on standard output where everything is.
pub(super) fn greet(config: &Config, app: &App) {
    let mut lines = Vec::new();
    if let Some(address) = app.public {
        let base = match &config.server.public_url {
            Some(url) => url.0.trim_end_matches('/').to_owned(),
            None => format!("http://{address}"),
        };
        for source in config.sources.values() {
            lines.push(format!(
                "receiving {base}/hooks/{} ({})",
                source.name,
                source.provider.name()
            ));
        }
    }
    lines.extend(config.notes.iter().map(|note| format!("note: {note}")));
    lines.push(format!("admin API http://{}", app.admin));
    if config.admin.token().is_none() {
        lines.push(format!("admin token in {}", config.store.token_path().display()));
    }
    if let Some((name, _)) = config.sources.first_key_value().filter(|_| app.public.is_some()) {
        let event = if &**name == "stripe" { "invoice.paid" } else { "push" };
        let program = std::env::args().next().unwrap_or_else(|| "posthouse".into());
        lines.push(format!("try in a second terminal: {program} trigger {name} {event}"));
    }
    lines.push(format!("ready, store: {}", app.store.engine()));
    // Nobody may be listening; that is no reason not to serve.
    let _ = std::io::stdout().write_all((lines.join("\n") + "\n").as_bytes());
}

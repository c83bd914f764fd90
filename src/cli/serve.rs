//! `serve`: flags become overrides of the configuration, and the service runs.

use super::Global;
use super::failure::Failure;
use super::settings::load;
use crate::app::{self, Role};
use crate::config::Files;
use crate::telemetry;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args, Default)]
pub(super) struct Serve {
    /// What this process does
    #[arg(long, value_enum, default_value_t)]
    role: Role,
    /// Where webhooks are received, instead of server.listen
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Where the admin API listens, instead of admin.listen
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// The directory of the database and of generated secrets, instead of store.data_dir
    #[arg(long, value_name = "PATH")]
    data_dir: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(&self, global: &Global) -> Result<(), Failure> {
        let flags = [
            ("server.listen", self.listen.map(|address| address.to_string())),
            ("admin.listen", self.admin_listen.map(|address| address.to_string())),
            ("store.data_dir", self.data_dir.as_ref().map(|path| path.display().to_string())),
        ];
        let given = |(key, value): (&str, Option<String>)| Some((key.to_owned(), value?));
        let overrides = flags.into_iter().filter_map(given).collect();
        let config = load(global, overrides, Files::MayCreate)
            .map_err(|faults| Failure::of_configuration(&faults))?;
        telemetry::start_logging();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::Failed(format!("no runtime: {error}")))?;
        let served = runtime.block_on(app::serve(config, self.role));
        served.map_err(|error| Failure::Failed(error.to_string()))
    }
}

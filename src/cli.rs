//! The command line: what can be asked for, and with which exit code it ends.
//!
//! `serve`, `check`, `migrate` and `trigger` read the configuration; everything else asks the
//! admin API of the running server, so that a command never opens the database beside it.

mod alarms;
mod bulk;
mod check;
mod client;
mod deliveries;
mod destinations;
mod explain;
mod failure;
mod health;
mod jobs;
mod migrate;
mod print;
mod providers;
mod prune;
mod rejections;
mod replay;
mod routes;
mod serve;
mod settings;
mod stop;
mod table;
mod tally;
mod times;
mod trigger;
mod why;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use failure::Failure;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shown below every help text; `failure` makes the codes.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: what was asked for did not work
  2  wrong usage, a faulty configuration, or a refused token
  3  not found
  4  the server cannot be reached

Environment:
  POSTHOUSE__SECTION__KEY  overrides a key of the configuration, such as POSTHOUSE__ADMIN__LISTEN
  POSTHOUSE_ADMIN_URL      as --admin-url
  POSTHOUSE_ADMIN_TOKEN    the token of the admin API, instead of the configured or generated one
  POSTHOUSE_LOG            what serve logs, such as info or posthouse=debug
  POSTHOUSE_LOG_FORMAT     json: every line of the log is a JSON object";

/// Receives webhooks once, in order, and never loses one.
#[derive(Parser)]
#[command(name = "posthouse", version, about, after_help = EXIT_CODES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    /// Without one: serve.
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every command understands.
#[derive(Args)]
struct Global {
    /// How to print what was found
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// The configuration file [default: posthouse.toml, if it is there]
    #[arg(long, global = true, value_name = "PATH")]
    config: Option<PathBuf>,
    /// Overrides a key of the configuration, such as server.listen=0.0.0.0:8080; for `trigger`
    /// also changes a field of the body, such as /data/id=42
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = settings::pair)]
    set: Vec<(String, String)>,
    /// The admin API of the running server [default: at admin.listen of the configuration]
    #[arg(long, global = true, value_name = "URL")]
    admin_url: Option<String>,
}

/// Ways to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned text for people.
    Table,
    /// What the admin API says, for programs.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Receives, delivers, or both
    Serve(serve::Serve),
    /// Prints the effective configuration with its secrets hidden, or every fault in it
    Check,
    /// Creates the database or brings its schema up to date
    Migrate,
    /// Sends an event to a source, signed as its provider would sign it
    Trigger(trigger::Trigger),
    /// What was received
    #[command(subcommand)]
    Deliveries(deliveries::Deliveries),
    /// What is to be done, and was
    #[command(subcommand)]
    Jobs(jobs::Jobs),
    /// Runs recorded deliveries again: those named, or those of a filter
    Replay(replay::Replay),
    /// What goes where
    #[command(subcommand)]
    Routes(routes::Routes),
    /// Lists where jobs go: circuits, what destinations are bounded to, and what runs
    Destinations,
    /// Stops a source, a route, a destination or a lane: what is recorded stays recorded
    Pause(stop::Pause),
    /// Lets something paused go on
    Resume(stop::Resume),
    /// Lists what is paused, since when and why
    Pauses,
    /// Lists the alarms that stand, since when and why
    Alarms,
    /// What was refused
    #[command(subcommand)]
    Rejections(rejections::Rejections),
    /// Lists the senders that are known, or shows one of them
    Providers(providers::Providers),
    /// Forgets now what is older than [retention] says
    Prune(prune::Prune),
    /// Asks the running server whether it is ready: 0 when it is, else 1
    Health,
    /// Prints completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody may be reading; the code still tells.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2).into();
        }
    };
    let done = obey(&cli.global, cli.command.unwrap_or(Command::Serve(serve::Serve::default())));
    match done {
        Ok(()) | Err(Failure::NobodyReads) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "posthouse: {failure}");
            failure.code()
        }
    }
}

fn obey(global: &Global, command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(serve) => serve.run(global),
        Command::Check => check::run(global),
        Command::Providers(providers) => providers.run(global),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "posthouse", &mut script);
            print::bytes(&script)
        }
        Command::Health => health::run(global),
        Command::Migrate => settings::block_on(migrate::run(global)),
        Command::Trigger(trigger) => settings::block_on(trigger.run(global)),
        Command::Deliveries(deliveries) => settings::block_on(deliveries.run(global)),
        Command::Jobs(jobs) => settings::block_on(jobs.run(global)),
        Command::Replay(replay) => settings::block_on(replay.run(global)),
        Command::Routes(routes) => settings::block_on(routes.run(global)),
        Command::Destinations => settings::block_on(destinations::list(global)),
        Command::Pause(pause) => settings::block_on(pause.run(global)),
        Command::Resume(resume) => settings::block_on(resume.run(global)),
        Command::Pauses => settings::block_on(stop::list(global)),
        Command::Alarms => settings::block_on(alarms::list(global)),
        Command::Rejections(rejections) => settings::block_on(rejections.run(global)),
        Command::Prune(prune) => settings::block_on(prune.run(global)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_means_serve_and_global_flags_stand_anywhere() {
        let cli = Cli::try_parse_from(["posthouse", "--config", "a.toml"]).unwrap();
        assert!(cli.command.is_none());
        for line in
            ["--output json jobs list", "jobs --output json list", "jobs list --output json"]
        {
            let words = std::iter::once("posthouse").chain(line.split(' '));
            let cli = Cli::try_parse_from(words).unwrap();
            assert_eq!(cli.global.output, Format::Json, "{line}");
        }
    }

    #[test]
    fn a_time_without_its_zone_is_wrong_usage() {
        let line = ["posthouse", "deliveries", "list", "--since", "2026-03-01T12:00:00"];
        let error = Cli::try_parse_from(line).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("zone"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}

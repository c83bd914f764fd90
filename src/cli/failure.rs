//! How a command can fail, as far as the exit code differs.

use crate::config::Fault;
use std::process::ExitCode;

/// Why a command did not do what was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It did not work.
    #[error("{0}")]
    Failed(String),
    /// Wrong usage, a faulty configuration, or a refused token.
    #[error("{0}")]
    Usage(String),
    /// What it names is not there.
    #[error("{0}")]
    NotFound(String),
    /// The server does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// The reader of standard output went away, as `head` does: nothing has failed.
    #[error("nobody reads the output")]
    NobodyReads,
}

impl Failure {
    /// The exit code, as the help text lists them.
    pub(super) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::NobodyReads => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::NotFound(_) => 3,
            Self::Unreachable(_) => 4,
        })
    }

    /// All faults of a configuration, one a line.
    pub(super) fn of_configuration(faults: &[Fault]) -> Self {
        let lines: Vec<_> = faults.iter().map(|fault| format!("\n  {fault}")).collect();
        Self::Usage(format!("the configuration has faults:{}", lines.concat()))
    }
}

impl From<std::io::Error> for Failure {
    /// For standard output only.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Failed(format!("cannot write to standard output: {error}")),
        }
    }
}

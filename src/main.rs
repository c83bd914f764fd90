//! The program `posthouse`. Everything is in the library; see `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    posthouse::cli::run()
}

//! The program `mosaic-discord`: reads the command line, runs one command and maps its end to an exit code.

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use mosaic_connector::commands::{Cli, Surroundings};
use mosaic_connector::exit::{Code, Exit, wrap};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help and version come as errors too, but go to stdout and are none.
            if !usage.use_stderr() {
                let _ = usage.print();
                return Code::Ok.into();
            }
            return told(&Exit::usage(usage.to_string().trim_end()));
        }
    };
    // First of all: every command may come to hold a secret, and none may leave a file that others can read.
    let ended = mosaic_sandbox::harden_process()
        .map_err(Exit::failed)
        .and_then(|()| cli.run(&Surroundings::of_process()));
    match ended {
        Ok(()) => Code::Ok.into(),
        Err(exit) => told(&exit),
    }
}

/// Says on stderr why the command ended, and gives its code.
fn told(exit: &Exit) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{}", wrap(&exit.sentence, 80));
    exit.code.into()
}

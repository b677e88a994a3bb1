//! The launcher of the engine. Its command line is written by the connector; everything it does is in the library.

#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let error = mosaic_sandbox::confine(env::args_os().skip(1));
    eprintln!("{error}");
    ExitCode::from(2)
}

//! The binary `mosaic-broker`. Everything it does is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    mosaic_broker::main(std::env::args_os())
}

//! The binary `mosaic-broker`. Everything it does is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "unconfined-for-bench")]
compile_error!(
    "a broker without its fence is never `mosaic-broker`: build without the feature unconfined-for-bench"
);

fn main() -> ExitCode {
    mosaic_broker::main(std::env::args_os())
}

//! The broker without the kernel's fence, for `make bench` and for nothing else: beside it the fence's cost shows. Built
//! only on request, by the feature `unconfined-for-bench`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!(
        "THIS BROKER IS NOT CONFINED. It is built for measurements and must not serve a seat."
    );
    mosaic_broker::main(std::env::args_os())
}

//! The log on stderr: ids, counts and states, one line each. No message text and no secret is ever handed to it.

use std::io;

use tracing_subscriber::filter::LevelFilter;

/// Starts logging. A second start changes nothing.
pub fn start() {
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false);
    // An error means that logging has been started.
    let _ = log.with_max_level(LevelFilter::INFO).try_init();
}

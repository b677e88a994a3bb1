//! Data on stdout, for commands that print it. Knows only how to stop when nobody reads any more.

use std::{
    fmt,
    io::{self, Write},
    process,
};

use super::Code;

/// Prints one line. A reader that went away, as `head` does, ends the command without a word.
pub(crate) fn line(text: impl fmt::Display) {
    if let Err(error) = writeln!(io::stdout(), "{text}") {
        if error.kind() != io::ErrorKind::BrokenPipe {
            eprintln!("mosaic-broker: the output cannot be written: {error}.");
        }
        process::exit(Code::Failed as i32);
    }
}

/// Prints text that brings its own line ends.
pub(crate) fn text(text: impl fmt::Display) {
    line(text.to_string().trim_end_matches('\n'));
}

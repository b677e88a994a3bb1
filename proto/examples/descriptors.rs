//! Prints the descriptor set that `Tools.Describe` serves, for tests in other languages.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    io::stdout().write_all(mosaic_proto::DESCRIPTORS)
}

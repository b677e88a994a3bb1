//! The one test that changes the umask, alone in its process: the umask belongs to all threads of it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests arrange and examine real files"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot arrange its ground has to stop"
)]

mod ground;

use std::fs;
use std::os::unix::fs::MetadataExt;

use ground::Ground;
use nix::sys::stat::{Mode, umask};

#[test]
fn a_26_a_new_file_has_0644_whatever_the_umask() {
    let ground = Ground::new();

    for (name, mask) in [("open.md", 0o000), ("shut.md", 0o777)] {
        let before = umask(Mode::from_bits_truncate(mask));
        let answer = ground.write("vault", name, "new");
        umask(before);
        assert_eq!(
            (
                answer.code,
                fs::metadata(ground.vault(name)).unwrap().mode() & 0o7777
            ),
            ("done", 0o644),
            "{name}"
        );
    }
}

//! Reading a file that only its owner may read: the binding and the bot token. It opens once, checks the open file and
//! reads from that; it does not know what the file is for.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Why a file was not read. Displays as the second half of a sentence that began with the file.
#[derive(Debug)]
pub enum FileProblem {
    /// Nothing has this name.
    Missing,
    /// A symbolic link has this name.
    Symlink,
    /// A folder, a pipe or a device has this name.
    NotRegular,
    /// It belongs to another user.
    NotOurs,
    /// Its permission bits are not 0600.
    Mode(u32),
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// The system could not open or read it.
    Io(io::Error),
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "does not exist"),
            Self::Symlink => write!(f, "is a symbolic link; accepted is a regular file"),
            Self::NotRegular => write!(f, "is not a regular file"),
            Self::NotOurs => write!(
                f,
                "belongs to another user; accepted is a file of the user who runs this"
            ),
            Self::Mode(mode) => {
                write!(f, "has mode {mode:04o}; accepted is 0600, set by chmod 600")
            }
            Self::TooLarge(limit) => write!(f, "is larger than {limit} bytes"),
            Self::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// Reads a regular file of ours with mode 0600 and at most `limit` bytes, never through a symbolic link.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileProblem> {
    let file = open(path)?;
    let found = file.metadata().map_err(FileProblem::Io)?;
    if !found.is_file() {
        return Err(FileProblem::NotRegular);
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(FileProblem::NotOurs);
    }
    if found.mode() & 0o777 != 0o600 {
        return Err(FileProblem::Mode(found.mode() & 0o777));
    }
    read_at_most(file, limit)
}

/// Reads a whole open file of at most `limit` bytes.
pub(super) fn read_at_most(file: File, limit: u64) -> Result<Vec<u8>, FileProblem> {
    let mut content = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut content)
        .map_err(FileProblem::Io)?;
    if content.len() as u64 > limit {
        Err(FileProblem::TooLarge(limit))
    } else {
        Ok(content)
    }
}

fn open(path: &Path) -> Result<File, FileProblem> {
    // Non-blocking, because opening a pipe that nobody writes to would wait for ever.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
        .map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) => FileProblem::Missing,
            Some(Errno::ELOOP) => FileProblem::Symlink,
            Some(Errno::ENXIO) => FileProblem::NotRegular,
            _ => FileProblem::Io(error),
        })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn problem(path: &Path) -> String {
        read(path, 10).unwrap_err().to_string()
    }

    #[test]
    fn only_a_private_regular_file_of_bounded_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let link = folder.path().join("link");
        let fifo = folder.path().join("fifo");
        let set_mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&path, "0123456789").unwrap();
        symlink(&path, &link).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).unwrap();

        set_mode(0o600);
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(matches!(read(&path, 9), Err(FileProblem::TooLarge(9))));

        for mode in [0o644, 0o640, 0o400, 0o700, 0o660] {
            set_mode(mode);
            assert_eq!(
                problem(&path),
                format!("has mode {mode:04o}; accepted is 0600, set by chmod 600")
            );
        }
        assert!(matches!(read(&link, 10), Err(FileProblem::Symlink)));
        assert!(matches!(read(&fifo, 10), Err(FileProblem::NotRegular)));
        assert!(matches!(
            read(folder.path(), 10),
            Err(FileProblem::NotRegular)
        ));
        assert!(matches!(
            read(&folder.path().join("gone"), 10),
            Err(FileProblem::Missing)
        ));
    }
}

//! Reads the binding file: private, regular, ours, of bounded size. What it says is somebody else's matter.

use std::io::Read as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::PolicyError;
use crate::limits;

const PRIVATE: &str = "a regular file of this user with mode 0600 (chmod 600), not a symbolic link";

const NEW: &str = "the name of a binding you wrote, as README.md says under \"Set-up on a host\"";

/// Reads the whole file, or says what is wrong with it.
pub(super) fn read_private(path: &Path) -> Result<Vec<u8>, PolicyError> {
    let refuse = |found: String, accepted: &str| {
        PolicyError::new(path.display().to_string(), found, accepted)
    };

    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP => refuse("is a symbolic link".to_owned(), PRIVATE),
        Errno::NOENT => refuse("does not exist".to_owned(), NEW),
        other => refuse(format!("cannot be opened ({other})"), PRIVATE),
    })?;
    let stat =
        fstat(&file).map_err(|errno| refuse(format!("cannot be examined ({errno})"), PRIVATE))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refuse("is not a regular file".to_owned(), PRIVATE));
    }
    if stat.st_uid != nix::unistd::geteuid().as_raw() {
        return Err(refuse("belongs to another user".to_owned(), PRIVATE));
    }
    if stat.st_mode & 0o7777 != 0o600 {
        return Err(refuse(
            format!("has mode {:04o}", stat.st_mode & 0o7777),
            PRIVATE,
        ));
    }

    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .take(limits::BINDING_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(format!("cannot be read ({error})"), PRIVATE))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limits::BINDING_BYTES {
        return Err(refuse("is too large".to_owned(), "a file of at most 1 MiB"));
    }
    Ok(bytes)
}

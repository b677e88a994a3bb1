//! Whole files that are either there and complete, or not there: written beside their name, synced, then renamed to it,
//! and the folder synced. A crash in between leaves a `.part` file that the next write of the same name replaces.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, RenameFlags, renameat2};
use serde::Serialize;

use super::{JournalError, crash};

/// Writes a record that is never rewritten (`turns/<id>.json`), 0600, and returns when it is on disk.
///
/// # Errors
/// [`JournalError::Exists`] when it is there already; else what could not be done. No half record is left under the name.
pub fn write_once<T: Serialize>(path: &Path, record: &T) -> Result<(), JournalError> {
    let mut bytes =
        serde_json::to_vec_pretty(record).map_err(|error| JournalError::NotWritten {
            path: path.to_owned(),
            source: error.into(),
        })?;
    bytes.push(b'\n');

    write_new(path, &bytes)?;
    crash::line_is_durable();
    Ok(())
}

/// Writes a file that must not exist.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    write_whole(path, bytes, RenameFlags::RENAME_NOREPLACE)
}

/// Writes a file over whatever has its name.
pub(crate) fn write_over(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    write_whole(path, bytes, RenameFlags::empty())
}

/// Writes, syncs and removes a file that means nothing.
pub(crate) fn probe(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(path)?;
    file.write_all(b"probe")?;
    file.sync_all()?;
    std::fs::remove_file(path)
}

/// Makes the entries of the folder that holds `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn write_whole(path: &Path, bytes: &[u8], rename: RenameFlags) -> Result<(), JournalError> {
    let not_written = |source| JournalError::NotWritten {
        path: path.to_owned(),
        source,
    };
    let part = part_of(path);

    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits())
        .open(&part)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| renameat2(AT_FDCWD, &part, AT_FDCWD, path, rename).map_err(io::Error::from));
    if let Err(source) = written {
        // Best effort: what stays is overwritten by the next try.
        let _ = std::fs::remove_file(&part);
        return Err(match source.raw_os_error() == Some(Errno::EEXIST as i32) {
            true => JournalError::Exists {
                path: path.to_owned(),
            },
            false => not_written(source),
        });
    }
    sync_folder_of(path).map_err(|source| JournalError::NotSynced {
        path: path.to_owned(),
        source,
    })
}

/// Whether a name is that of a file whose writing was cut off by a crash.
pub(crate) fn is_part(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".part")
}

/// `.<name>.part` in the same folder.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    path.with_file_name(format!(".{name}.part"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_record_is_written_once_and_never_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.json");

        write_once(&path, &[1]).unwrap();
        let again = write_once(&path, &[2]);

        assert!(matches!(again, Err(JournalError::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  1\n]\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn what_a_crash_left_half_written_does_not_block_the_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.json");
        fs::write(part_of(&path), "half a longer record than the one to come").unwrap();

        write_once(&path, &[1]).unwrap();

        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  1\n]\n");
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_the_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone/1.json");

        let error = write_once(&path, &[1]).unwrap_err();

        assert!(
            matches!(&error, JournalError::NotWritten { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("1.json"), "{error}");
    }
}

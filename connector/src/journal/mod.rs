//! Append-only JSON lines: what the connector knows after a crash is what stands here. A line is on disk before the
//! action it announces begins. It knows how lines are kept, not what they mean; that is in [`lines`] and [`TurnRecord`].

mod at;
mod crash;
pub(crate) mod durable;
pub mod lines;
mod read;
mod record;
mod spool;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::Serialize;

pub use at::{At, Day};
pub use durable::write_once;
pub use read::{Lines, read};
pub use record::*;
pub use spool::{Digest, Spool, SpoolError};

/// Why a journal or a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file or its folder could not be opened or looked at.
    #[error("The file {} cannot be opened: {source}.", path.display())]
    Open {
        /// The journal or record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what the connector made.
    #[error("{} is {found}. A journal is a regular file of mode 0600 of the user who runs this.", path.display())]
    NotPrivate {
        /// The journal.
        path: PathBuf,
        /// What it is instead.
        found: &'static str,
    },
    /// A finished line does not parse; the content is not quoted.
    #[error(
        "Line {line} of {} does not parse (column {column}). Nothing was changed; inspect it by hand.",
        path.display()
    )]
    BadLine {
        /// The journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// Where in the line reading stopped, from 1.
        column: usize,
    },
    /// The line could not be written; the file is as it was before.
    #[error("A line could not be written to {}: {source}.", path.display())]
    NotWritten {
        /// The journal or record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Whether the line is on disk cannot be known. The journal takes no further line.
    #[error("{} could not be synced to disk: {source}.", path.display())]
    NotSynced {
        /// The journal or record.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier failure left the journal in a state nobody can vouch for.
    #[error("{} failed earlier and takes no further line.", path.display())]
    Poisoned {
        /// The journal.
        path: PathBuf,
    },
    /// A write-once record is there already.
    #[error("{} is there already and is never rewritten.", path.display())]
    Exists {
        /// The record.
        path: PathBuf,
    },
}

impl JournalError {
    /// Whether the disk is full or the quota spent, the one cause an operator can clear without touching the program.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Open { source, .. }
            | Self::NotWritten { source, .. }
            | Self::NotSynced { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                )
            }
            Self::NotPrivate { .. }
            | Self::BadLine { .. }
            | Self::Poisoned { .. }
            | Self::Exists { .. } => false,
        }
    }
}

/// What a journal needs of its file. The second implementation is the disk that fails, in the tests.
pub trait Disk {
    /// Writes all bytes at the end.
    ///
    /// # Errors
    /// What the system says; part of the bytes may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was appended durable.
    ///
    /// # Errors
    /// What the system says; what is on disk is then unknown.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to a length.
    ///
    /// # Errors
    /// What the system says.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// One journal, open for appending lines of type `T`. Its writer is whoever holds the binding ([`crate::owner`]).
#[derive(Debug)]
pub struct Journal<T, D = File> {
    disk: D,
    path: PathBuf,
    /// Bytes of whole lines: where the file is cut back to when a line could not be written.
    len: u64,
    poisoned: bool,
    line: PhantomData<fn(&T)>,
}

/// A journal as it was found.
#[derive(Debug)]
pub struct Opened<T> {
    /// Ready for appending.
    pub journal: Journal<T>,
    /// Where the half-written last line was set aside, when there was one: name it to the operator.
    pub torn: Option<PathBuf>,
}

impl<T: Serialize> Journal<T> {
    /// Opens the journal at `path`, creating it 0600 and its folder entry durably when it is missing.
    ///
    /// A last line without its line break was being written when the process died. Its action never began, so it is
    /// moved to `<name>.torn-<now>` and the journal ends with the line before.
    ///
    /// # Errors
    /// When the file is not a private regular file of ours, or cannot be opened or repaired.
    pub fn open(path: &Path, now: At) -> Result<Opened<T>, JournalError> {
        let failed = |source| JournalError::Open {
            path: path.to_owned(),
            source,
        };

        let existed = path.symlink_metadata().is_ok();
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(path)
            .map_err(failed)?;
        let size = check_private(&file, path)?;
        if !existed {
            file.sync_all()
                .and_then(|()| durable::sync_folder_of(path))
                .map_err(failed)?;
        }

        let len = end_of_last_line(&file, size).map_err(failed)?;
        let torn = if len < size {
            Some(set_aside(&file, path, len, size, now)?)
        } else {
            None
        };
        Ok(Opened {
            journal: Self {
                disk: file,
                path: path.to_owned(),
                len,
                poisoned: false,
                line: PhantomData,
            },
            torn,
        })
    }
}

impl<T: Serialize, D: Disk> Journal<T, D> {
    /// Appends a line and returns when it is on disk: the action it announces may begin.
    ///
    /// # Errors
    /// [`JournalError::NotWritten`] when the file is as before; any other means the journal takes no further line.
    pub fn append(&mut self, line: &T) -> Result<(), JournalError> {
        self.append_unsynced(line)?;
        if let Err(source) = self.disk.sync() {
            // After a failed sync the kernel may drop the pages and report success next time: never ask again.
            self.poisoned = true;
            return Err(JournalError::NotSynced {
                path: self.path.clone(),
                source,
            });
        }
        crash::line_is_durable();
        Ok(())
    }

    /// Appends a line that announces nothing, such as a drop: it is on disk with the next synced one, or when the
    /// system writes it.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_unsynced(&mut self, line: &T) -> Result<(), JournalError> {
        if self.poisoned {
            return Err(JournalError::Poisoned {
                path: self.path.clone(),
            });
        }
        let not_written = |source| JournalError::NotWritten {
            path: self.path.clone(),
            source,
        };
        let mut bytes = serde_json::to_vec(line).map_err(|error| not_written(error.into()))?;
        bytes.push(b'\n');

        if let Err(source) = self.disk.append(&bytes) {
            // Half a line may stand there. The next line must not be glued to it.
            let error = not_written(source);
            self.poisoned = self.disk.cut(self.len).is_err();
            return Err(error);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Bytes of whole lines in the file.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Refuses what the connector did not make, and returns the size in bytes.
fn check_private(file: &File, path: &Path) -> Result<u64, JournalError> {
    let found = file.metadata().map_err(|source| JournalError::Open {
        path: path.to_owned(),
        source,
    })?;
    let not_private = |found| JournalError::NotPrivate {
        path: path.to_owned(),
        found,
    };
    if !found.is_file() {
        return Err(not_private("not a regular file"));
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(not_private("another user's file"));
    }
    if found.mode() & 0o777 != 0o600 {
        return Err(not_private("not of mode 0600"));
    }
    Ok(found.size())
}

/// The offset just after the last line break. Looks backwards, so the cost does not grow with the journal.
fn end_of_last_line(file: &File, size: u64) -> io::Result<u64> {
    let mut block = vec![0; 64 * 1024];
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..usize::try_from(end - start).expect("a block fits memory")];
        file.read_exact_at(part, start)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Copies the bytes from `len` to `size` beside the journal, durably, and only then cuts them off.
fn set_aside(
    file: &File,
    path: &Path,
    len: u64,
    size: u64,
    now: At,
) -> Result<PathBuf, JournalError> {
    let failed = |source| JournalError::Open {
        path: path.to_owned(),
        source,
    };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".torn-{}", now.compact()));
    let aside = PathBuf::from(name);

    let mut torn = vec![0; usize::try_from(size - len).expect("a line fits memory")];
    file.read_exact_at(&mut torn, len).map_err(failed)?;
    durable::write_new(&aside, &torn)?;
    file.set_len(len)
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    Ok(aside)
}

#[cfg(test)]
mod tests;

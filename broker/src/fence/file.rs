//! A file that may be read: regular, with one name, of permitted size, and already open, so that what was checked and
//! what is read are the same thing. Its content is judged elsewhere.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Stat, fstat};

use super::reach::Root;
use super::relpath::RelPath;
use super::tree;
use crate::refusal::Refusal;

/// An open file that passed. Made here only.
#[derive(Debug)]
pub struct Checked {
    file: OwnedFd,
    identity: Identity,
    limit: u64,
}

/// What tells whether a name still stands for the file that was checked. A rename changes none of it; replacing the
/// file or writing into it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i128, i128),
}

impl Checked {
    /// Opens and checks a file below a root.
    ///
    /// # Errors
    ///
    /// The refusal of the first rule that is broken.
    pub fn open(root: &Root<'_>, path: &RelPath) -> Result<Checked, Refusal> {
        Checked::judge(
            tree::open_file(root.folder(), path.as_str())?,
            root.max_file_bytes(),
        )
    }

    /// Checks a file that was opened by [`tree`].
    pub(super) fn judge(file: OwnedFd, limit: u64) -> Result<Checked, Refusal> {
        let stat = fstat(&file).map_err(|_| Refusal::CheckFailed)?;
        judge_kind(&stat)?;
        let identity = Identity::of(&stat);
        if identity.size > limit {
            return Err(Refusal::TooLarge { limit });
        }
        Ok(Checked {
            file,
            identity,
            limit,
        })
    }

    /// Size at the time of the check, in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.identity.size
    }

    /// Most bytes the file may have, however it grows.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What the file was at the time of the check.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

impl AsFd for Checked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Identity {
    /// What a stat says of a file.
    pub(crate) fn of(stat: &Stat) -> Identity {
        Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            modified: (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
        }
    }

    /// Device and inode as the ledger writes them.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.device, self.inode)
    }
}

/// Checks type and links: the two things about a file that no size or content makes up for.
pub(super) fn judge_kind(stat: &Stat) -> Result<(), Refusal> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Refusal::IsFolder),
        FileType::Symlink => return Err(Refusal::Symlink),
        _ => return Err(Refusal::NotAFile),
    }
    match stat.st_nlink {
        1 => Ok(()),
        // Removed between the lookup and the check.
        0 => Err(Refusal::NotFound),
        _ => Err(Refusal::ManyLinks),
    }
}

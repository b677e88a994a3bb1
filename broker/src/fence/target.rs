//! A place that may be written: its folder open, its name judged, and what stands there now on record, so that the write
//! can prove it replaced that and nothing else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Stat, fstat};

use super::file::{Identity, judge_kind};
use super::reach::WritableRoot;
use super::relpath::RelPath;
use super::tree;
use crate::refusal::Refusal;

/// Set-user-id, set-group-id and sticky.
const SPECIAL_BITS: u32 = 0o7000;

/// A checked place to write. Made here only.
#[derive(Debug)]
pub struct Target {
    parent: OwnedFd,
    name: String,
    temp: TempName,
    standing: Standing,
}

/// What stood at the target when it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Absent,
    /// A regular file with one name.
    Present {
        /// What it was.
        identity: Identity,
        /// Its rwx bits, which the new file takes over.
        mode: u32,
    },
}

impl Target {
    /// Checks a place below a writable root. `nonce` is random and names the temp file.
    ///
    /// # Errors
    ///
    /// The refusal of the first rule that is broken. Nothing is created either way.
    pub fn check(
        root: &WritableRoot<'_>,
        path: &RelPath,
        nonce: [u8; 16],
    ) -> Result<Target, Refusal> {
        let root = root.reading();
        if root.policy().protection().covers(path) {
            return Err(Refusal::Protected);
        }
        let (folder, name) = path.split_last();
        let parent = tree::open_folder(root.folder(), folder.as_ref().map_or(".", RelPath::as_str))
            .map_err(|refusal| {
                if refusal == Refusal::NotFound {
                    Refusal::FolderMissing
                } else {
                    refusal
                }
            })?;
        let standing = match look(&parent, name)? {
            Some(stat) => {
                judge_kind(&stat)?;
                if stat.st_mode & SPECIAL_BITS != 0 {
                    return Err(Refusal::SpecialBits);
                }
                Standing::Present {
                    identity: Identity::of(&stat),
                    mode: stat.st_mode & 0o777,
                }
            }
            None => {
                path.may_be_created()?;
                Standing::Absent
            }
        };
        Ok(Target {
            parent,
            name: name.to_owned(),
            temp: TempName::from_random(nonce),
            standing,
        })
    }

    /// Checks a place that has to hold the very file that was read.
    ///
    /// # Errors
    ///
    /// As [`Target::check`], and [`Refusal::Changed`].
    pub fn check_unchanged(
        root: &WritableRoot<'_>,
        path: &RelPath,
        read: Identity,
        nonce: [u8; 16],
    ) -> Result<Target, Refusal> {
        let target = Target::check(root, path, nonce)?;
        match target.standing {
            Standing::Present { identity, .. } if identity == read => Ok(target),
            _ => Err(Refusal::Changed),
        }
    }

    /// The folder, open.
    #[must_use]
    pub fn parent(&self) -> BorrowedFd<'_> {
        self.parent.as_fd()
    }

    /// The name in the folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the temp file in the same folder.
    #[must_use]
    pub fn temp(&self) -> &TempName {
        &self.temp
    }

    /// What stood there.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }
}

/// The name of a temp file: hidden, so that no verb can reach it, and random, so that nobody can wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TempName(String);

impl TempName {
    fn from_random(nonce: [u8; 16]) -> TempName {
        TempName(format!(".mosaic-{:032x}.tmp", u128::from_be_bytes(nonce)))
    }

    /// Recognises a name that was written down before.
    #[must_use]
    pub fn parse(text: &str) -> Option<TempName> {
        let middle = text.strip_prefix(".mosaic-")?.strip_suffix(".tmp")?;
        let hex = middle.len() == 32
            && middle
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| TempName(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Looks at a name in a folder without following it and without waking anything up.
pub(super) fn look(folder: &OwnedFd, name: &str) -> Result<Option<Stat>, Refusal> {
    match tree::open_place(folder, name) {
        Ok(place) => fstat(&place).map(Some).map_err(|_| Refusal::CheckFailed),
        Err(Refusal::NotFound) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

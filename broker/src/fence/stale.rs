//! What a write that was cut off by a crash left behind, and whether it may be removed. The answer comes from what
//! the ledger wrote down before that write; a temp file nobody wrote down is nobody's to remove.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::file::{Checked, Identity, judge_kind};
use super::reach::Reach;
use super::relpath::RelPath;
use super::target::{TempName, look};
use super::tree;
use crate::effect;
use crate::policy::hex_digest;
use crate::refusal::Refusal;

/// One unfinished write, by the facts of its ledger line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Fact `root`.
    pub root: String,
    /// Fact `path`.
    pub path: String,
    /// Fact `temp`.
    pub temp: String,
    /// Fact `sha256`: of the text that was to be written.
    pub sha256: String,
    /// Fact `replaces`: device and inode of what stood there, absent for a new file.
    pub replaces: Option<String>,
}

/// A leftover that is provably the broker's own. Made here only.
#[derive(Debug)]
pub struct Stale {
    parent: OwnedFd,
    temp: TempName,
}

/// What was found of an unfinished write.
#[derive(Debug)]
pub enum Leftover {
    /// Nothing: the crash came before or after the temp file's life.
    Nothing,
    /// Our own file, to be removed.
    Ours(Stale),
    /// Somebody else's version of the target, displaced for a moment when the crash came. It stays, and a person looks.
    Theirs,
}

impl Leftover {
    /// Looks for what an unfinished write left behind.
    ///
    /// # Errors
    ///
    /// The root or folder cannot be reached, or the facts are not those of a write.
    pub fn find(reach: &Reach, unfinished: &Unfinished) -> Result<Leftover, Refusal> {
        let root = reach.writable_root(&unfinished.root)?.reading();
        let path = RelPath::parse(&unfinished.path)?;
        let temp = TempName::parse(&unfinished.temp).ok_or(Refusal::CheckFailed)?;
        let (folder, _) = path.split_last();
        let parent =
            tree::open_folder(root.folder(), folder.as_ref().map_or(".", RelPath::as_str))?;

        let Some(stat) = look(&parent, temp.as_str())? else {
            return Ok(Leftover::Nothing);
        };
        if judge_kind(&stat).is_err() || stat.st_uid != nix::unistd::geteuid().as_raw() {
            return Ok(Leftover::Theirs);
        }
        // The version that was to be replaced, already displaced: its successor stands.
        let replaced = unfinished.replaces.as_deref() == Some(Identity::of(&stat).place().as_str());
        // Before the exchange the temp name holds our own text. After it, whatever else was displaced is not ours; the
        // target then holds the text that was to be written.
        let exchanged = || match Checked::open(&root, &path) {
            Ok(target) => digest(&target).is_none_or(|digest| digest == unfinished.sha256),
            Err(Refusal::NotFound) => false,
            Err(_) => true,
        };
        if replaced || !exchanged() {
            Ok(Leftover::Ours(Stale { parent, temp }))
        } else {
            Ok(Leftover::Theirs)
        }
    }
}

impl Stale {
    /// The folder, open.
    #[must_use]
    pub fn parent(&self) -> BorrowedFd<'_> {
        self.parent.as_fd()
    }

    /// The name in it.
    #[must_use]
    pub fn temp(&self) -> &TempName {
        &self.temp
    }
}

fn digest(file: &Checked) -> Option<String> {
    let mut scratch = Vec::new();
    let bytes = effect::read::whole(file, &mut scratch).ok()?;
    Some(hex_digest(bytes))
}

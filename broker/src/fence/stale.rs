//! What a write that was cut off by a crash left behind, and whether it may be removed. The answer comes from what
//! the ledger wrote down before that write; a temp file nobody wrote down is nobody's to remove.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::Stat;

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
        let (folder, name) = path.split_last();
        let parent =
            tree::open_folder(root.folder(), folder.as_ref().map_or(".", RelPath::as_str))?;

        let Some(found) = look(&parent, temp.as_str())? else {
            return Ok(Leftover::Nothing);
        };
        if judge_kind(&found).is_err() || found.st_uid != nix::unistd::geteuid().as_raw() {
            return Ok(Leftover::Theirs);
        }
        let ours = match &unfinished.replaces {
            // A new file takes its name by a plain rename: while the temp name exists, it was not taken.
            None => true,
            Some(replaced) => {
                let is_replaced = |stat: &Stat| Identity::of(stat).place() == *replaced;
                // The version that was to be replaced was displaced already, or it still stands and the temp file
                // never left our hands, or the whole new text is there to be recognised. All else may be a newcomer.
                is_replaced(&found)
                    || look(&parent, name)?.as_ref().is_some_and(is_replaced)
                    || digest(&parent, &temp, root.max_file_bytes()).as_ref()
                        == Some(&unfinished.sha256)
            }
        };
        Ok(if ours {
            Leftover::Ours(Stale { parent, temp })
        } else {
            Leftover::Theirs
        })
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

fn digest(parent: &OwnedFd, temp: &TempName, limit: u64) -> Option<String> {
    let file = Checked::judge(tree::open_file(parent, temp.as_str()).ok()?, limit).ok()?;
    let mut scratch = Vec::new();
    effect::read::whole(&file, &mut scratch)
        .ok()
        .map(hex_digest)
}

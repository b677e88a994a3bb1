//! A walk below a folder that checks each file as it reaches it, by the same rules as a single read, and never resolves
//! a path twice: every folder is held open and its entries are opened relative to it. It does not know what is looked
//! for.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::FileType;

use super::file::Checked;
use super::folder::{self, Names};
use super::reach::Root;
use super::relpath::RelPath;
use super::tree;
use crate::limits;
use crate::refusal::Refusal;

/// What the walk came to.
#[derive(Debug)]
pub enum Step {
    /// A file that passed, with its path below the root.
    File(String, Checked),
    /// Something that cannot be read, for this reason. Hidden names are passed over without a step.
    LeftOut(Refusal),
    /// So many entries of a folder beyond what is held in memory.
    Beyond(u64),
}

/// Files below a root in the order of their paths. Made here only.
#[derive(Debug)]
pub struct Walk {
    folders: Vec<Level>,
    /// Where the walk is, ending in a slash unless empty.
    path: String,
    limit: u64,
    /// The step to take before walking on.
    ready: Option<Step>,
}

#[derive(Debug)]
struct Level {
    folder: OwnedFd,
    names: Names,
    next: usize,
    /// Length of the path up to this folder.
    path_bytes: usize,
}

impl Walk {
    /// Begins at a folder or a file below a root, or at the root itself.
    ///
    /// # Errors
    ///
    /// The refusal of the first rule the starting point breaks.
    pub fn begin(root: &Root<'_>, path: Option<&RelPath>) -> Result<Walk, Refusal> {
        let mut walk = Walk {
            folders: Vec::new(),
            path: String::new(),
            limit: root.max_file_bytes(),
            ready: None,
        };
        let start = match path {
            Some(path) => tree::open_file(root.folder(), path.as_str())?,
            None => tree::open_folder(root.folder(), ".")?,
        };
        let given = path.map_or("", RelPath::as_str);
        if folder::is_folder(start.as_fd())? {
            if !given.is_empty() {
                walk.path = format!("{given}/");
            }
            walk.descend(start)?;
        } else {
            walk.ready = Some(Step::File(
                given.to_owned(),
                Checked::judge(start, walk.limit)?,
            ));
        }
        Ok(walk)
    }

    fn descend(&mut self, folder: OwnedFd) -> Result<(), Refusal> {
        let names = Names::read(folder.as_fd())?;
        if names.beyond() > 0 {
            self.ready = Some(Step::Beyond(names.beyond()));
        }
        self.folders.push(Level {
            folder,
            names,
            next: 0,
            path_bytes: self.path.len(),
        });
        Ok(())
    }

    /// Looks at the next entry of the folder the walk is in. `None` when it has nothing to say about it.
    fn look(&mut self, index: usize) -> Option<Step> {
        let level = self.folders.last().expect("the caller is in a folder");
        self.path.truncate(level.path_bytes);
        let name = level.names.name(index);
        let kind = level.names.kind(index, level.folder.as_fd());
        let is_folder = match kind {
            FileType::Directory => true,
            FileType::RegularFile => false,
            FileType::Symlink => return Some(Step::LeftOut(Refusal::Symlink)),
            _ => return Some(Step::LeftOut(Refusal::NotAFile)),
        };
        let segment = match folder::judge_name(name) {
            Ok(segment) => segment,
            Err(refusal) => return Some(Step::LeftOut(refusal)),
        };
        let too_deep = is_folder && self.folders.len() == limits::SEARCH_DEPTH;
        if too_deep || self.path.len() + segment.len() > limits::PATH_BYTES {
            return Some(Step::LeftOut(Refusal::PathTooLong));
        }
        self.path.push_str(segment);
        let opened = tree::open_entry(&level.folder, name, is_folder);
        let step = opened.and_then(|opened| {
            if is_folder {
                self.path.push('/');
                self.descend(opened).map(|()| None)
            } else {
                Checked::judge(opened, self.limit)
                    .map(|file| Some(Step::File(self.path.clone(), file)))
            }
        });
        match step {
            Ok(step) => step,
            // Gone since its folder was read: not there, so not left out.
            Err(Refusal::NotFound) => None,
            Err(refusal) => Some(Step::LeftOut(refusal)),
        }
    }
}

impl Iterator for Walk {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.ready.take() {
                return Some(step);
            }
            let level = self.folders.last_mut()?;
            let index = level.next;
            if index == level.names.len() {
                self.folders.pop();
                continue;
            }
            level.next += 1;
            if let Some(step) = self.look(index) {
                return Some(step);
            }
        }
    }
}

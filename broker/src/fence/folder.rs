//! A folder that may be listed, and what is in it. Names come sorted; hidden ones do not come at
//! all.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, RawDir, fstat, statat};
use rustix::io::Errno;

use super::file::judge_kind;
use super::reach::Root;
use super::relpath::{RelPath, judge_segment};
use super::{shown, tree};
use crate::limits;
use crate::refusal::Refusal;

/// An open folder. Made here only.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    max_file_bytes: u64,
}

/// The first entries of a folder by name, and how many there are besides.
#[derive(Debug, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// Entries that are there and not shown. Hidden ones are not among them.
    pub left_out: u64,
}

/// One entry of a listing.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Escaped, so that it is one line.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What an entry is to the model.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Can be listed.
    Folder,
    /// Can be read, as far as its outside tells. The size is in bytes.
    File(u64),
    /// Is there and cannot be read, for this reason.
    OutOfReach(Refusal),
}

impl Folder {
    /// Opens a folder below a root, or the root itself.
    ///
    /// # Errors
    ///
    /// The refusal of the first rule that is broken.
    pub fn open(root: &Root<'_>, path: Option<&RelPath>) -> Result<Folder, Refusal> {
        let fd = tree::open_folder(root.folder(), path.map_or(".", RelPath::as_str))?;
        Ok(Folder {
            fd,
            max_file_bytes: root.max_file_bytes(),
        })
    }

    /// Looks at what is in the folder and shows up to `most` entries.
    ///
    /// # Errors
    ///
    /// [`Refusal::CheckFailed`] when the folder cannot be read any more.
    pub fn list(&self, most: usize) -> Result<Listing, Refusal> {
        let names = Names::read(self.fd.as_fd())?;
        let mut listing = Listing {
            entries: Vec::new(),
            left_out: names.beyond,
        };
        for index in 0..names.len() {
            if listing.entries.len() == most {
                listing.left_out += 1;
                continue;
            }
            let name = names.name(index);
            // A name that is gone since is no entry.
            if let Some(kind) = self.kind(name) {
                listing.entries.push(Entry {
                    name: shown::name(name.to_bytes()),
                    kind,
                });
            }
        }
        Ok(listing)
    }

    fn kind(&self, name: &CStr) -> Option<Kind> {
        let stat = match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return None,
            Err(_) => return Some(Kind::OutOfReach(Refusal::NotPermitted)),
        };
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        let judged = judge_name(name).and_then(|_| judge_kind(&stat));
        Some(match judged {
            Err(Refusal::IsFolder) => Kind::Folder,
            Err(refusal) => Kind::OutOfReach(refusal),
            Ok(()) if size > self.max_file_bytes => Kind::OutOfReach(Refusal::TooLarge {
                limit: self.max_file_bytes,
            }),
            Ok(()) => Kind::File(size),
        })
    }
}

/// A name from the disk as a segment of a path, if a request could name it.
pub(super) fn judge_name(name: &CStr) -> Result<&str, Refusal> {
    let segment = name.to_str().map_err(|_| Refusal::PathControlCharacter)?;
    judge_segment(segment).map(|()| segment)
}

/// The names in a folder, sorted, without hidden ones. Kept in one piece of memory: a search reads thousands of folders.
#[derive(Debug)]
pub(super) struct Names {
    /// Every name with the NUL behind it.
    letters: Vec<u8>,
    /// Start and end in `letters`, NUL included, and the type as far as the folder itself tells.
    entries: Vec<(usize, usize, FileType)>,
    /// Names that were not kept.
    beyond: u64,
}

impl Names {
    pub(super) fn read(folder: BorrowedFd<'_>) -> Result<Names, Refusal> {
        let mut names = Names {
            letters: Vec::new(),
            entries: Vec::new(),
            beyond: 0,
        };
        let mut buffer: Vec<u8> = Vec::with_capacity(32 * 1_024);
        let room: &mut [MaybeUninit<u8>] = buffer.spare_capacity_mut();
        let mut entries = RawDir::new(folder, room);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|_| Refusal::CheckFailed)?;
            let name = entry.file_name().to_bytes_with_nul();
            if name.starts_with(b".") {
                continue;
            }
            if names.entries.len() == limits::FOLDER_ENTRIES {
                names.beyond += 1;
                continue;
            }
            let start = names.letters.len();
            names.letters.extend_from_slice(name);
            names
                .entries
                .push((start, names.letters.len(), entry.file_type()));
        }
        let letters = &names.letters;
        names
            .entries
            .sort_unstable_by(|a, b| letters[a.0..a.1].cmp(&letters[b.0..b.1]));
        Ok(names)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn beyond(&self) -> u64 {
        self.beyond
    }

    pub(super) fn name(&self, index: usize) -> &CStr {
        let (start, end, _) = self.entries[index];
        CStr::from_bytes_with_nul(&self.letters[start..end])
            .expect("the kernel ends a name at its first NUL")
    }

    /// The type by the folder's own word; some file systems give none, and then the file itself is asked.
    pub(super) fn kind(&self, index: usize, folder: BorrowedFd<'_>) -> FileType {
        match self.entries[index].2 {
            FileType::Unknown => statat(folder, self.name(index), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                }),
            kind => kind,
        }
    }
}

/// Whether an open descriptor is a folder.
pub(super) fn is_folder(fd: BorrowedFd<'_>) -> Result<bool, Refusal> {
    let stat = fstat(fd).map_err(|_| Refusal::CheckFailed)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

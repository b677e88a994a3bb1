//! File rows: a path, what is granted below it, and why. Also the list of every file right Landlock can deny, which all
//! profiles handle. What a path means to the program is not known here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags, make_bitflags};

/// Grant of some rights below (or on) a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) place: Place,
    pub(crate) grant: Grant,
    pub(crate) presence: Presence,
    pub(crate) why: &'static str,
}

/// Where a grant applies. Landlock follows the file the path led to when the rules were built, not the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// This file, or this folder and all below.
    Path(PathBuf),
    /// The file; when it is a symbolic link, the folder its target lies in, because such a target is replaced while we run
    /// and a rule on a file dies with the file.
    FollowedFile(PathBuf),
    /// Everything that lies directly in a folder when the rules are built, but for some names. Landlock cannot take
    /// something back out of a folder that was granted, so the folder itself is not granted.
    EntriesOf {
        folder: PathBuf,
        except: Vec<OsString>,
    },
}

impl Place {
    /// The path a reader would call it by.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Place::Path(path)
            | Place::FollowedFile(path)
            | Place::EntriesOf { folder: path, .. } => path,
        }
    }
}

/// Whether a missing path is an error or grants nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Named by the operator or by us: it must be there.
    Required,
    /// A place of the distribution's; one that has no such file needs none.
    IfThere,
}

/// Named set of file rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) name: &'static str,
    pub(crate) rights: BitFlags<AccessFs>,
}

/// Read files and list folders.
pub(crate) const READ: Grant = Grant {
    name: "read",
    rights: make_bitflags!(AccessFs::{ReadFile | ReadDir}),
};

/// Read files whose name is known; no listing.
pub(crate) const READ_BY_NAME: Grant = Grant {
    name: "read by name",
    rights: make_bitflags!(AccessFs::{ReadFile}),
};

/// Read and execute one file.
pub(crate) const RUN: Grant = Grant {
    name: "run",
    rights: make_bitflags!(AccessFs::{ReadFile | Execute}),
};

/// Read and write one device.
pub(crate) const USE: Grant = Grant {
    name: "use",
    rights: make_bitflags!(AccessFs::{ReadFile | WriteFile}),
};

/// Read, and replace, create and remove regular files. Enough for the broker's writes; no folder is ever made.
pub(crate) const WRITE: Grant = Grant {
    name: "write",
    rights: make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | MakeReg | RemoveFile}),
};

/// Write, and make and remove folders.
pub(crate) const WORK: Grant = Grant {
    name: "work in",
    rights: make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | Truncate | MakeReg | RemoveFile | MakeDir | RemoveDir
    }),
};

/// Remove empty folders, nothing else: neither a file in them nor their names can be touched.
pub(crate) const REMOVE_EMPTY: Grant = Grant {
    name: "remove empty folders in",
    rights: make_bitflags!(AccessFs::{RemoveDir}),
};

/// Connect to the Unix sockets below, on kernels that ask (ABI 9).
pub(crate) const CONNECT: Grant = Grant {
    name: "connect in",
    rights: make_bitflags!(AccessFs::{ResolveUnix}),
};

/// One right that is denied wherever no row grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeniedRight {
    pub(crate) right: AccessFs,
    pub(crate) name: &'static str,
    /// The ABI that brought it; an older kernel that was accepted by an explicit key does not deny it.
    pub(crate) abi: u32,
    pub(crate) why: &'static str,
}

macro_rules! denied {
    ($($right:ident, $abi:literal, $name:literal, $why:literal;)*) => {
        &[$(DeniedRight { right: AccessFs::$right, name: $name, abi: $abi, why: $why }),*]
    };
}

/// Every file right there is.
pub(crate) const DENIED_RIGHTS: &[DeniedRight] = denied! {
    Execute, 1, "execute", "no program but the named ones";
    ReadFile, 1, "read file", "secrets, other roots, other people's files";
    ReadDir, 1, "list folder", "names tell too";
    WriteFile, 1, "write file", "nothing outside changes";
    Truncate, 3, "truncate", "cutting a file to nothing is a write";
    MakeReg, 1, "make file", "nothing new appears outside";
    MakeDir, 1, "make folder", "nothing new appears outside";
    MakeSym, 1, "make symbolic link", "a link planted in a root misleads the next reader";
    MakeSock, 1, "make socket", "sockets are bound before the fence";
    MakeFifo, 1, "make fifo", "a fifo hangs whoever opens it";
    MakeChar, 1, "make character device", "a device is a door to the kernel";
    MakeBlock, 1, "make block device", "a device is a door to the disk";
    RemoveFile, 1, "remove file", "nothing outside disappears";
    RemoveDir, 1, "remove folder", "nothing outside disappears";
    Refer, 2, "link or rename across folders", "a file moved in would take its content along";
    IoctlDev, 5, "ioctl on devices", "device controls are surface";
    ResolveUnix, 9, "connect to pathname sockets", "session bus, container daemon; below ABI 9 only the socket refusals stop it";
};

#[cfg(test)]
mod tests {
    use landlock::{ABI, Access};

    use super::*;

    #[test]
    fn every_right_landlock_knows_is_denied_once_and_under_its_own_abi() {
        for abi in 1..=10 {
            let listed: BitFlags<AccessFs> = DENIED_RIGHTS
                .iter()
                .filter(|row| row.abi <= abi)
                .map(|row| row.right)
                .collect();
            assert_eq!(
                listed,
                AccessFs::from_all(ABI::from(i32::try_from(abi).unwrap())),
                "ABI {abi}"
            );
        }
        assert_eq!(DENIED_RIGHTS.len(), AccessFs::from_all(ABI::V10).len());
    }

    #[test]
    fn no_grant_lets_a_file_move_between_folders_or_a_special_file_be_made() {
        let special = make_bitflags!(AccessFs::{Refer | MakeSym | MakeSock | MakeFifo | MakeChar | MakeBlock | IoctlDev});
        for grant in [
            READ,
            READ_BY_NAME,
            RUN,
            USE,
            WRITE,
            WORK,
            REMOVE_EMPTY,
            CONNECT,
        ] {
            assert!(!grant.rights.intersects(special), "{}", grant.name);
        }
    }

    #[test]
    fn nothing_that_can_be_written_can_be_run() {
        for grant in [
            READ,
            READ_BY_NAME,
            RUN,
            USE,
            WRITE,
            WORK,
            REMOVE_EMPTY,
            CONNECT,
        ] {
            assert!(
                !grant
                    .rights
                    .contains(AccessFs::WriteFile | AccessFs::Execute),
                "{}",
                grant.name
            );
        }
    }
}

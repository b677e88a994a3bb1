//! Opening below a root by `openat2`, in one call that the kernel resolves as a whole: no link, no magic link, no mount,
//! no way up. A walk by hand can be raced; this cannot. Nothing outside this file opens what is already there.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::limits;
use crate::refusal::Refusal;

const BELOW: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Never waits for a pipe's other end, never becomes a terminal's owner, never leaks into a child. `NOFOLLOW` would add
/// nothing to `NO_SYMLINKS`, and with `DIRECTORY` it would turn a link's ELOOP into ENOTDIR.
const CAREFUL: OFlags = OFlags::CLOEXEC
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens the folder of a root by its real path. Links anywhere in it fail with ELOOP.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry(|| {
        openat2(
            CWD,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
    })
}

/// Opens something below `top` for reading.
pub(crate) fn open_file(top: impl AsFd, below: &str) -> Result<OwnedFd, Refusal> {
    open(top, below, OFlags::RDONLY)
}

/// Opens a folder below `top` for listing, and for the changes that are made relative to it.
pub(crate) fn open_folder(top: impl AsFd, below: &str) -> Result<OwnedFd, Refusal> {
    open(top, below, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens one entry of a folder that was opened here. The name comes from the kernel and may be no text.
pub(crate) fn open_entry(
    folder: impl AsFd,
    name: &std::ffi::CStr,
    is_folder: bool,
) -> Result<OwnedFd, Refusal> {
    let kind = if is_folder {
        OFlags::DIRECTORY
    } else {
        OFlags::empty()
    };
    let flags = OFlags::RDONLY | kind | CAREFUL;
    retry(|| openat2(folder.as_fd(), name, flags, Mode::empty(), BELOW)).map_err(refusal)
}

/// Opens something below `folder` only to look at it: without reading rights, and a final link as the link it is.
pub(super) fn open_place(folder: impl AsFd, name: &str) -> Result<OwnedFd, Refusal> {
    // openat2 takes no other flags with O_PATH, and needs none: such an open neither waits nor reads.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry(|| openat2(folder.as_fd(), name, flags, Mode::empty(), BELOW)).map_err(refusal)
}

fn open(top: impl AsFd, below: &str, flags: OFlags) -> Result<OwnedFd, Refusal> {
    retry(|| openat2(top.as_fd(), below, flags | CAREFUL, Mode::empty(), BELOW)).map_err(refusal)
}

/// `openat2` answers EAGAIN when something on the way was renamed while it looked.
fn retry(mut open: impl FnMut() -> rustix::io::Result<OwnedFd>) -> Result<OwnedFd, Errno> {
    for _ in 1..limits::OPEN_TRIES {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return answer,
        }
    }
    open()
}

/// What a failed open means. The errno itself goes nowhere.
fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::NOENT => Refusal::NotFound,
        Errno::LOOP => Refusal::Symlink,
        Errno::XDEV => Refusal::Mount,
        Errno::NOTDIR => Refusal::NotAFolder,
        Errno::ACCESS | Errno::PERM => Refusal::NotPermitted,
        // What an open of a socket, or of a device without a driver, answers.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Refusal::NotAFile,
        Errno::NAMETOOLONG => Refusal::PathSegmentTooLong,
        _ => Refusal::CheckFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_below_the_top_is_refused() {
        // No test may mount something, so this takes the mount every Linux has.
        let top = open_root(Path::new("/")).unwrap();

        assert_eq!(open_file(&top, "proc/version").unwrap_err(), Refusal::Mount);
        assert_eq!(open_folder(&top, "proc").unwrap_err(), Refusal::Mount);
    }

    #[test]
    fn a_01_the_kernel_refuses_a_way_up_even_if_a_path_were_not_parsed() {
        let top = open_root(Path::new("/proc/self")).err();
        assert_eq!(top, Some(Errno::LOOP));

        let top = open_root(Path::new("/usr/bin")).unwrap();
        assert_eq!(open_folder(&top, "../lib").unwrap_err(), Refusal::Mount);
        assert_eq!(
            open_file(&top, "/etc/hostname").unwrap_err(),
            Refusal::Mount
        );
    }
}

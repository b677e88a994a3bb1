//! Writes a checked target: a temp file in the same folder, synced, then one rename that can prove what it displaced.
//! Whatever happens, either the whole new text stands there or what stood there before, and no temp file is left.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fstat, fsync, openat, renameat_with, statat,
    unlinkat,
};
use rustix::io::{Errno, write};

use super::Trouble;
use crate::cancel::Cancel;
use crate::fence::content::NewText;
use crate::fence::file::Identity;
use crate::fence::target::{Standing, Target};
use crate::limits;

/// Mode of a new file, whatever the umask.
const NEW_FILE: u32 = 0o644;

/// A write that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Whether the disk confirmed the new name. The text itself was confirmed before.
    pub synced: bool,
}

/// Writes `text` to `target`.
///
/// # Errors
///
/// See [`Trouble`]; the target is as it was.
pub fn replace(target: &Target, text: &NewText, cancel: &Cancel) -> Result<Replaced, Trouble> {
    if cancel.is_cancelled() {
        return Err(Trouble::Cancelled);
    }
    let mode = match target.standing() {
        Standing::Absent => NEW_FILE,
        Standing::Present { mode, .. } => mode,
    };
    let mut temp = Temp::create(target)?;
    temp.fill(text.as_bytes(), mode)?;
    if cancel.is_cancelled() {
        return Err(Trouble::Cancelled);
    }
    match target.standing() {
        Standing::Absent => temp.appear()?,
        Standing::Present { identity, .. } => temp.take_the_place_of(identity)?,
    }
    Ok(Replaced {
        synced: fsync(target.parent()).is_ok(),
    })
}

/// A temp file of ours. While its name holds our own bytes it is removed on every way out, a panic included.
struct Temp<'a> {
    target: &'a Target,
    file: OwnedFd,
    /// Device and inode of our file.
    ours: (u64, u64),
    holds_ours: bool,
}

impl<'a> Temp<'a> {
    /// Creates it exclusively: an object planted under its name stops the write and is not touched.
    fn create(target: &'a Target) -> Result<Temp<'a>, Trouble> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(
            target.parent(),
            target.temp().as_str(),
            flags,
            Mode::from_raw_mode(0o600),
        )?;
        let mut temp = Temp {
            target,
            file,
            ours: (0, 0),
            holds_ours: true,
        };
        temp.ours = place(&temp.file)?;
        Ok(temp)
    }

    fn fill(&mut self, mut bytes: &[u8], mode: u32) -> Result<(), Trouble> {
        while !bytes.is_empty() {
            match write(&self.file, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        fchmod(&self.file, Mode::from_raw_mode(mode))?;
        fsync(&self.file)?;
        Ok(())
    }

    /// Takes the name of a new file, if it is still free.
    fn appear(&mut self) -> Result<(), Trouble> {
        match self.rename(RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.holds_ours = false;
                Ok(())
            }
            Err(Errno::EXIST) => Err(Trouble::Changed),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Changes places with the file that was checked, then looks at what came out: it must be that very file.
    fn take_the_place_of(&mut self, checked: Identity) -> Result<(), Trouble> {
        // Sees most changes before anything is visible. Only the exchange below sees all of them.
        if self.stands_at(self.target.name()) != Some(checked) {
            return Err(Trouble::Changed);
        }
        match self.rename(RenameFlags::EXCHANGE) {
            Ok(()) => self.holds_ours = false,
            Err(Errno::NOENT) => return Err(Trouble::Changed),
            Err(errno) => return Err(errno.into()),
        }
        if self.stands_at(self.target.temp().as_str()) != Some(checked) {
            return Err(self.put_back());
        }
        match self.unlink_temp() {
            Ok(()) => Ok(()),
            // The new text stands; the old one stays under a hidden name.
            Err(_) => Err(Trouble::LeftBehind),
        }
    }

    /// Gives a newcomer its place back. A further writer may replace the file at the same time; then the newest version
    /// is left standing, and the displaced one under the hidden name.
    fn put_back(&mut self) -> Trouble {
        let mut held = self.stands_at(self.target.temp().as_str());
        for _ in 0..limits::SWAP_BACK_TRIES {
            match self.rename(RenameFlags::EXCHANGE) {
                Ok(()) => {}
                // Our file was taken away meanwhile: the newcomer's name is free again.
                Err(Errno::NOENT) if self.rename(RenameFlags::NOREPLACE).is_ok() => {
                    return Trouble::Changed;
                }
                Err(_) => continue,
            }
            if self.temp_is_ours() {
                self.holds_ours = true;
                return Trouble::Changed;
            }
            // Somebody had replaced our file already. What came out is newer than what went in, so it goes back.
            if self.rename(RenameFlags::EXCHANGE).is_err() {
                return Trouble::LeftBehind;
            }
            let came_out = self.stands_at(self.target.temp().as_str());
            if came_out == held {
                return Trouble::LeftBehind;
            }
            held = came_out;
        }
        Trouble::LeftBehind
    }

    fn rename(&self, how: RenameFlags) -> Result<(), Errno> {
        let parent = self.target.parent();
        renameat_with(
            parent,
            self.target.temp().as_str(),
            parent,
            self.target.name(),
            how,
        )
    }

    fn stands_at(&self, name: &str) -> Option<Identity> {
        let stat = statat(self.target.parent(), name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Identity::of(&stat))
    }

    fn temp_is_ours(&self) -> bool {
        statat(
            self.target.parent(),
            self.target.temp().as_str(),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.ours)
    }

    fn unlink_temp(&self) -> Result<(), Errno> {
        unlinkat(
            self.target.parent(),
            self.target.temp().as_str(),
            AtFlags::empty(),
        )
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.holds_ours {
            // Nothing more can be done when this fails; the next start finds the name in the ledger.
            let _ = self.unlink_temp();
        }
    }
}

fn place(file: impl AsFd) -> Result<(u64, u64), Errno> {
    fstat(file).map(|stat| (stat.st_dev, stat.st_ino))
}

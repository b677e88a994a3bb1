//! Who holds a binding: `run.lock/` with `owner.json`, and `STOP` as the gate that serializes cleaning up with starting
//! (seeds 002, "Commands"). One process holds a binding at a time; whatever cannot be established is refused.

mod brake;
mod process;
mod record;
mod signal;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::journal::{At, durable};
use crate::paths::{BindingName, Paths};

pub use brake::Brake;
pub use process::{Kernel, Life, Processes};
use record::{Claim, Identity};
pub use record::{Doubt, Fate, Gone};

/// The lock of one binding, seen through what the kernel says of processes.
#[derive(Debug)]
pub struct Lock<'a, P = Kernel> {
    paths: &'a Paths,
    processes: P,
}

/// How a binding's lock stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// There is none.
    Free,
    /// A lock without a record: a start is just under way, or was interrupted before it said who it is.
    Unpublished,
    /// A record, and what became of the process it names.
    Held {
        /// The process id.
        pid: u32,
        /// When the record was written, as far as the file says.
        since: Option<At>,
        /// Whether the process lives.
        fate: Fate,
        /// The record's bytes: what is removed must still be what was judged.
        record: Vec<u8>,
    },
    /// Something is there that does not read as a record. It is never removed and never claimed over.
    Unreadable {
        /// What it is.
        path: PathBuf,
        /// What is wrong with it, without its content.
        problem: String,
    },
}

impl Standing {
    /// What to tell an operator who cannot go on because of it, with the next step.
    pub fn refusal(&self, binding: &BindingName) -> String {
        match self {
            Self::Free => format!("The binding {binding} is free."),
            Self::Unpublished => format!(
                "A start of {binding} is under way, or was interrupted before it said who it is. \
                 If none is under way, clear the lock: mosaic-discord unlock {binding}"
            ),
            Self::Held {
                pid,
                since,
                fate: Fate::Runs,
                ..
            } => {
                let since = since.map(|at| format!(" since {at}")).unwrap_or_default();
                format!(
                    "The binding {binding} is held by pid {pid}{since}. \
                     To end it: mosaic-discord stop {binding}"
                )
            }
            Self::Held {
                pid,
                fate: Fate::Gone(how),
                ..
            } => format!(
                "The binding {binding} is still locked by pid {pid}, which is gone: {how}. \
                 Clear the lock: mosaic-discord unlock {binding}"
            ),
            Self::Held {
                pid,
                fate: Fate::InDoubt(why),
                ..
            } => format!(
                "The binding {binding} is locked by pid {pid}. A process with that id is alive, and whether it is the \
                 connector cannot be established: {why}. Nothing was signaled or removed. See what it is: ps -fp {pid}\n\
                 Once it has ended, clear the lock: mosaic-discord unlock {binding}"
            ),
            Self::Unreadable { path, problem } => format!(
                "{} {problem}. It is never removed or claimed over; inspect it by hand.",
                path.display()
            ),
        }
    }
}

/// Why a claim did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// The stop switch is on.
    #[error("STOP is there")]
    Braked,
    /// There is a lock.
    #[error("the binding is locked")]
    Locked(Standing),
    /// The lock could not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be made.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a lock was not cleared.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    /// It is not one that may be cleared.
    #[error("the lock may not be cleared")]
    Kept(Standing),
    /// It changed or could not be removed.
    #[error("{}: {source}", path.display())]
    Io {
        /// What could not be removed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// This process holds the binding until it is released or dropped.
#[derive(Debug)]
pub struct Owned {
    lock: PathBuf,
    record: Vec<u8>,
    released: bool,
}

impl<'a> Lock<'a> {
    /// The lock of a binding on this machine.
    pub fn new(paths: &'a Paths) -> Self {
        Self {
            paths,
            processes: Kernel,
        }
    }
}

impl<'a, P: Processes> Lock<'a, P> {
    /// The lock of a binding, with another teller of processes.
    pub fn seen_by(paths: &'a Paths, processes: P) -> Self {
        Self { paths, processes }
    }

    /// Looks at the lock and at the process it names.
    pub fn standing(&self) -> Standing {
        let lock = self.paths.run_lock();
        match lock.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Standing::Free,
            Err(error) => return unreadable(&lock, format!("cannot be looked at: {error}")),
            Ok(found) if !found.is_dir() => return unreadable(&lock, "is not a folder".to_owned()),
            Ok(_) => {}
        }
        let path = record_in(&lock);
        let record = match path
            .symlink_metadata()
            .and_then(|found| match found.is_file() {
                true => fs::read(&path),
                false => Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not a regular file",
                )),
            }) {
            Ok(record) => record,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Standing::Unpublished,
            Err(error) => return unreadable(&path, format!("cannot be read: {error}")),
        };
        let Ok(claim) = serde_json::from_slice::<Claim>(&record) else {
            return unreadable(&path, "does not read as the record of an owner".to_owned());
        };
        let written = path.metadata().and_then(|found| found.modified()).ok();
        let since = written
            .and_then(|at| jiff::Timestamp::try_from(at).ok())
            .map(At::from);
        Standing::Held {
            pid: claim.pid(),
            since,
            fate: claim.fate(&self.processes),
            record,
        }
    }

    /// Takes the binding for the process `pid`, which is this one.
    ///
    /// STOP is looked for again after the record is published: whoever cleans up pulls STOP first, so nothing that
    /// starts meanwhile can hold the binding. A lock that is there is never claimed over, however stale.
    ///
    /// # Errors
    /// [`ClaimError::Braked`] and [`ClaimError::Locked`] leave everything as it was.
    pub fn claim(&self, pid: u32) -> Result<Owned, ClaimError> {
        let brake = Brake::new(self.paths);
        if brake.is_on() {
            return Err(ClaimError::Braked);
        }
        let lock = self.paths.run_lock();
        let failed = |source| ClaimError::Io {
            path: lock.clone(),
            source,
        };
        let identity = Identity::of(pid, &self.processes).map_err(failed)?;
        let record = serde_json::to_vec(&identity).map_err(|error| failed(error.into()))?;

        match DirBuilder::new().mode(0o700).create(&lock) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ClaimError::Locked(self.standing()));
            }
            Err(source) => return Err(failed(source)),
        }
        let owned = Owned {
            lock: lock.clone(),
            record,
            released: false,
        };
        durable::write_new(&record_in(&lock), &owned.record)
            .map_err(|error| failed(io::Error::other(error)))?;

        if brake.is_on() {
            owned.release().map_err(failed)?;
            return Err(ClaimError::Braked);
        }
        Ok(owned)
    }

    /// Removes a lock whose owner is gone, or that has no record. The caller has pulled STOP.
    ///
    /// # Errors
    /// [`ClearError::Kept`] when it is any other lock; it is then untouched.
    pub fn clear(&self) -> Result<Cleared, ClearError> {
        let lock = self.paths.run_lock();
        let failed = |source| ClearError::Io {
            path: lock.clone(),
            source,
        };
        let cleared = match self.standing() {
            Standing::Free => return Ok(Cleared::Nothing),
            Standing::Unpublished => Cleared::Unpublished,
            Standing::Held {
                pid,
                fate: Fate::Gone(how),
                record,
                ..
            } => {
                // Another clean-up may have been quicker, and a start after it may have published its own.
                if fs::read(record_in(&lock)).map_err(failed)? != record {
                    return Err(ClearError::Kept(self.standing()));
                }
                fs::remove_file(record_in(&lock)).map_err(failed)?;
                Cleared::Gone { pid, how }
            }
            kept @ (Standing::Held { .. } | Standing::Unreadable { .. }) => {
                return Err(ClearError::Kept(kept));
            }
        };
        remove_if_there(&durable::part_of(&record_in(&lock))).map_err(failed)?;
        // Only an empty folder goes: a record published this instant keeps it.
        fs::remove_dir(&lock).map_err(failed)?;
        Ok(cleared)
    }
}

/// What was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleared {
    /// There was no lock.
    Nothing,
    /// A lock without a record.
    Unpublished,
    /// The lock of a process that is gone.
    Gone {
        /// The process id.
        pid: u32,
        /// How that is known.
        how: Gone,
    },
}

impl Owned {
    /// Gives the binding back.
    ///
    /// # Errors
    /// When the lock stays; `unlock` clears it once this process has ended.
    pub fn release(mut self) -> io::Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> io::Result<()> {
        self.released = true;
        let record = record_in(&self.lock);
        // Only our own record: if a hand removed it and somebody else holds the binding now, theirs stays.
        match fs::read(&record) {
            Ok(there) if there == self.record => fs::remove_file(&record)?,
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        remove_if_there(&durable::part_of(&record))?;
        fs::remove_dir(&self.lock)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.released {
            // Nobody is left to tell; a lock that stays is cleared by `unlock` or the supervised start.
            let _ = self.give_back();
        }
    }
}

fn record_in(lock: &Path) -> PathBuf {
    lock.join("owner.json")
}

fn unreadable(path: &Path, problem: String) -> Standing {
    Standing::Unreadable {
        path: path.to_owned(),
        problem,
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;

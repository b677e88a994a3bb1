//! The roots as opened folders: made once, before the process is confined, and looked up by every call. Whether a root's
//! path still leads to the opened folder is asked each time (DESIGN, section 7, row 17).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::fstat;

use super::tree;
use crate::policy::{Policy, PolicyError, RootPolicy};
use crate::refusal::Refusal;

/// A policy with its roots opened. Everything the broker can touch is below one of these descriptors.
#[derive(Debug)]
pub struct Reach {
    policy: Policy,
    opened: Vec<Opened>,
}

#[derive(Debug)]
struct Opened {
    folder: OwnedFd,
    /// Device and inode at start.
    place: (u64, u64),
}

/// One root, found by its name and still in its place.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a> {
    policy: &'a RootPolicy,
    folder: BorrowedFd<'a>,
    max_file_bytes: u64,
}

/// A root that takes changes. A target to write can be checked in no other.
#[derive(Clone, Copy, Debug)]
pub struct WritableRoot<'a>(Root<'a>);

/// What `Status` says of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootState {
    /// Its name in the binding.
    pub name: String,
    /// Whether it takes changes.
    pub writable: bool,
    /// False when its folder was moved, removed or replaced since start.
    pub present: bool,
}

impl Reach {
    /// Opens every root. A root that is not there stops the start; nothing runs with a rule missing.
    ///
    /// # Errors
    ///
    /// Names the root that cannot be opened.
    pub fn open(policy: Policy) -> Result<Reach, PolicyError> {
        let opened = policy
            .roots()
            .iter()
            .map(|root| {
                let refuse = |errno| {
                    PolicyError::new(
                        format!("root {}", root.name()),
                        format!("its folder cannot be opened ({errno})"),
                        "an existing folder",
                    )
                };
                let folder = tree::open_root(root.path()).map_err(refuse)?;
                let place = place(&folder).map_err(refuse)?;
                Ok(Opened { folder, place })
            })
            .collect::<Result<_, PolicyError>>()?;
        Ok(Reach { policy, opened })
    }

    /// The policy the roots were opened for.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The state of each root now, in the order of the binding.
    #[must_use]
    pub fn root_states(&self) -> Vec<RootState> {
        self.policy
            .roots()
            .iter()
            .zip(&self.opened)
            .map(|(root, opened)| RootState {
                name: root.name().to_owned(),
                writable: root.writable(),
                present: opened.is_in_place(root),
            })
            .collect()
    }

    /// Finds a root by its exact name and makes sure it is still the folder that was opened.
    ///
    /// # Errors
    ///
    /// [`Refusal::RootUnknown`] or [`Refusal::RootGone`].
    pub fn root(&self, name: &str) -> Result<Root<'_>, Refusal> {
        let (policy, opened) = self
            .policy
            .roots()
            .iter()
            .zip(&self.opened)
            .find(|(root, _)| root.name() == name)
            .ok_or(Refusal::RootUnknown)?;
        if !opened.is_in_place(policy) {
            return Err(Refusal::RootGone);
        }
        Ok(Root {
            policy,
            folder: opened.folder.as_fd(),
            max_file_bytes: self.policy.max_file_bytes(),
        })
    }

    /// Finds a root that takes changes.
    ///
    /// # Errors
    ///
    /// As [`Reach::root`], and [`Refusal::RootReadOnly`].
    pub fn writable_root(&self, name: &str) -> Result<WritableRoot<'_>, Refusal> {
        let root = self.root(name)?;
        if root.policy.writable() {
            Ok(WritableRoot(root))
        } else {
            Err(Refusal::RootReadOnly)
        }
    }
}

impl<'a> Root<'a> {
    pub(super) fn folder(&self) -> BorrowedFd<'a> {
        self.folder
    }

    pub(super) fn policy(&self) -> &'a RootPolicy {
        self.policy
    }

    pub(crate) fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }
}

impl<'a> WritableRoot<'a> {
    /// The same root for reading.
    #[must_use]
    pub fn reading(&self) -> Root<'a> {
        self.0
    }
}

impl Opened {
    fn is_in_place(&self, root: &RootPolicy) -> bool {
        tree::open_root(root.path())
            .and_then(|folder| place(&folder))
            .is_ok_and(|now| now == self.place)
    }
}

fn place(folder: &OwnedFd) -> rustix::io::Result<(u64, u64)> {
    fstat(folder).map(|stat| (stat.st_dev, stat.st_ino))
}

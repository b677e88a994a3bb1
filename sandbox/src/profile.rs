//! The profile: every grant and every denial of one kind of process, as rows. It is data; the kernel is told elsewhere.

use crate::abi::{self, RequiredAbi};
use crate::call::{Call, Group};
use crate::error::SandboxError;
use crate::fence::Fence;
use crate::files::{DENIED_RIGHTS, DeniedRight, FileRow};
use crate::ports::{DENIED_NET, DENIED_SCOPES, DeniedNet, DeniedScope, PortRow};
use crate::refusal::{Answer, Refusal};

/// Table of one kind of process: the files and ports it keeps, the system calls it may make, what is refused whatever is
/// allowed, and a reason beside every row. [`Display`](std::fmt::Display) prints it for a reviewer; the prints of all
/// profiles are committed under `sandbox/snapshots/`.
///
/// Made by the functions of [`profiles`](crate::profiles); there is no other way to get one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    pub(crate) files: Vec<FileRow>,
    pub(crate) ports: Vec<PortRow>,
    pub(crate) denied_rights: Vec<DeniedRight>,
    pub(crate) denied_net: Vec<DeniedNet>,
    pub(crate) denied_scopes: Vec<DeniedScope>,
    pub(crate) executable_memory: ExecutableMemory,
    pub(crate) groups: Vec<Group>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) unlisted: Unlisted,
}

/// Whether memory may become executable after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutableMemory {
    /// Never, in this process; a program it starts decides for itself.
    Refused,
    /// A just-in-time compiler needs it.
    Needed,
}

/// What a call answers that is in no group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unlisted {
    /// As if the kernel did not have it.
    Enosys,
    /// It passes: a profile under the knife of the mutation test, where only Landlock is on trial.
    #[cfg(test)]
    Allowed,
}

impl Profile {
    /// A profile that grants nothing and denies all there is.
    pub(crate) fn bare(name: &'static str, purpose: &'static str) -> Profile {
        Profile {
            name,
            purpose,
            files: vec![],
            ports: vec![],
            denied_rights: DENIED_RIGHTS.to_vec(),
            denied_net: DENIED_NET.to_vec(),
            denied_scopes: DENIED_SCOPES.to_vec(),
            executable_memory: ExecutableMemory::Refused,
            groups: vec![],
            refusals: vec![],
            unlisted: Unlisted::Enosys,
        }
    }

    /// The profile's name, as the launcher and the logs use it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Opens every path, builds the Landlock rules and the filter. Nothing is confined yet, so this runs while the paths
    /// are still in reach, and before any listener answers.
    ///
    /// # Errors
    /// [`SandboxError::KernelTooOld`] below `required`; [`SandboxError::Path`] naming a path that is missing;
    /// otherwise what the kernel or a library refused. On an error nothing was changed.
    pub fn prepare(&self, required: RequiredAbi) -> Result<Fence, SandboxError> {
        let abi = abi::decide(abi::offered(), required, &abi::kernel_name())?;
        Fence::build(self, abi)
    }

    /// The rows a kernel of `abi` can hold, and the names of the denials it cannot.
    pub(crate) fn on(&self, abi: u32) -> (Profile, Vec<&'static str>) {
        let mut held = self.clone();
        let mut unheld = vec![];
        held.denied_rights.retain(|row| {
            row.abi <= abi || {
                unheld.push(row.name);
                false
            }
        });
        held.denied_net.retain(|row| {
            row.abi <= abi || {
                unheld.push(row.name);
                false
            }
        });
        held.denied_scopes.retain(|row| {
            row.abi <= abi || {
                unheld.push(row.name);
                false
            }
        });
        (held, unheld)
    }

    /// Whether the filter lets `call` through for some arguments.
    pub(crate) fn allows(&self, call: Call) -> bool {
        match self.unlisted {
            Unlisted::Enosys => self
                .groups
                .iter()
                .any(|group| group.calls().any(|allowed| allowed == call)),
            #[cfg(test)]
            Unlisted::Allowed => true,
        }
    }

    /// Every answer the filter may give to `call` in place of the kernel.
    pub(crate) fn answers(&self, call: Call) -> Vec<Answer> {
        let refused = self
            .refusals
            .iter()
            .filter(|row| row.calls.contains(&call))
            .map(|row| row.answer);
        refused
            .chain((!self.allows(call)).then_some(Answer::Enosys))
            .collect()
    }
}

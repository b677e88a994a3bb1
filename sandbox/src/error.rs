//! Why a fence could not be built or entered, in sentences for the operator. It does not decide what happens next: the
//! caller prints the sentence and exits with 2.

use std::io;
use std::path::PathBuf;

/// A fence that was asked for and is not there. Whoever receives one must not go on. Each prints as one whole sentence, its
/// cause included, so there is no further source to print.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel's Landlock is missing or older than required (issue 3, "Fail closed on old kernels"; A-119).
    #[error(
        "{kernel} {state}; this program needs Landlock ABI {required} (Linux {since}) or newer. Missing: {missing}. Nothing was started."
    )]
    KernelTooOld {
        /// The running kernel, as `Linux 6.1.0-18-amd64`.
        kernel: String,
        /// What the kernel answered, as `offers Landlock ABI 2` or `has no Landlock (…)`.
        state: String,
        /// The ABI that was asked for.
        required: u32,
        /// The first kernel release with that ABI.
        since: &'static str,
        /// What cannot be fenced without it.
        missing: String,
    },
    /// A requirement outside what may be configured.
    #[error(
        "Landlock ABI {0} cannot be required: 6 is the rule, 4 and 5 are the only lower values accepted"
    )]
    RequirementOutOfRange(u32),
    /// A path of the profile is not there or not of a kind a rule can be made for.
    #[error("the {profile} profile names {}, which cannot be opened: {cause}", path.display())]
    Path {
        /// The profile.
        profile: &'static str,
        /// The path of the row.
        path: PathBuf,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// A symbolic link stands where the profile's own folder must hold plain files and folders.
    #[error("the {profile} profile covers {}, which is a symbolic link; remove it", path.display())]
    Link {
        /// The profile.
        profile: &'static str,
        /// The link.
        path: PathBuf,
    },
    /// The Landlock rules could not be made.
    #[error("the Landlock rules of the {profile} profile cannot be built: {cause}")]
    Rules {
        /// The profile.
        profile: &'static str,
        /// What the library or kernel said.
        cause: landlock::RulesetError,
    },
    /// Landlock took the rules but does not enforce all of them.
    #[error("Landlock enforces the {profile} profile only in part")]
    PartlyEnforced {
        /// The profile.
        profile: &'static str,
    },
    /// The system call filter could not be made or installed.
    #[error("the system call filter of the {profile} profile cannot be {step}: {cause}")]
    Filter {
        /// The profile.
        profile: &'static str,
        /// `built` or `installed`.
        step: &'static str,
        /// What the library or kernel said.
        cause: seccompiler::Error,
    },
    /// More than one thread exists; Landlock would leave the others free.
    #[error(
        "the process already has more than one thread, and Landlock would leave the others outside the fence"
    )]
    Threads,
    /// Capabilities are left after they were dropped.
    #[error("capabilities are still held after they were dropped")]
    CapabilitiesHeld,
    /// One step of the way in was refused by the kernel.
    #[error("{step}: {cause}")]
    Step {
        /// What was tried, as a phrase.
        step: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The launcher's command line is not one that [`crate::launch_engine`] writes.
    #[error("confine: {0}")]
    Arguments(String),
    /// The self-test found the fence other than its profile; what follows is each row that broke.
    #[error("the fence does not hold, nothing was started: {0}")]
    Broken(String),
    /// The profile that was entered keeps no way to start a program.
    #[error("the {0} profile starts no program")]
    NoExec(&'static str),
}

impl SandboxError {
    /// The error of the last system call, under the phrase `step`.
    pub(crate) fn last(step: &'static str) -> SandboxError {
        SandboxError::Step {
            step,
            cause: io::Error::last_os_error(),
        }
    }
}

//! System calls that are refused whatever a profile allows, by name or by their arguments. Only register arguments can be
//! judged: what a call reads through a pointer stays opaque to a filter.
//!
//! Refused calls answer with an error and do not kill. Killing would need no less trust in the list, would turn a C library
//! update into an outage, and could not be tried from inside a process that may not fork; with an error the self-test tries
//! every row at every start (reference landlock-seccomp.md, section 6, argues both ways; this is the decision).

mod never;
mod process;
mod sockets;

use crate::call::Call;

pub(crate) use never::{never, unshare_always};
pub(crate) use process::{
    device_controls, foreign_limits, new_namespace, new_process, process_controls,
    process_controls_of_a_launcher, second_exec, set_id_modes, unshare_anything,
};
pub(crate) use sockets::{Sockets, fast_open, socket_pairs, sockets};

/// Row of calls refused under one condition, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) calls: Vec<Call>,
    /// The condition in words, for the print; empty means always.
    pub(crate) when: &'static str,
    /// The condition: any of these, each a set of arguments that must all match. Empty means always.
    pub(crate) any_of: Vec<Vec<Arg>>,
    /// The errno the caller sees.
    pub(crate) answer: Answer,
    pub(crate) why: &'static str,
    /// Arguments the self-test passes. Each must meet the condition, and must be harmless if the refusal is missing: the
    /// kernel then answers something else, and no process, socket to the outside or change comes of it.
    pub(crate) tries: Vec<(&'static str, [i64; 6])>,
}

/// Condition on one argument. Compared as 32 bits, as the kernel reads the arguments concerned; the upper half that a caller
/// may fill with noise is ignored by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arg {
    /// Argument `.0` is `.1`.
    Is(u8, u32),
    /// Argument `.0` is not `.1`.
    IsNot(u8, u32),
    /// Argument `.0` under the mask `.1` is `.2`.
    Masked(u8, u32, u32),
    /// Argument `.0` is not the address of the launcher's path; all 64 bits (see `exec.rs`).
    NotLauncherPath(u8),
}

/// What a refused call answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// Not permitted: the plain refusal.
    Eperm,
    /// Address family not supported: what a socket library expects to hear and copes with.
    Eafnosupport,
    /// Not implemented: what libc falls back from. The answer to everything that is not listed.
    Enosys,
}

impl Answer {
    pub(crate) fn errno(self) -> i32 {
        match self {
            Answer::Eperm => libc::EPERM,
            Answer::Eafnosupport => libc::EAFNOSUPPORT,
            Answer::Enosys => libc::ENOSYS,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Answer::Eperm => "EPERM",
            Answer::Eafnosupport => "EAFNOSUPPORT",
            Answer::Enosys => "ENOSYS",
        }
    }
}

/// Arguments for a call that must not come to anything: every pointer, descriptor and identifier in it is invalid.
const NONSENSE: [i64; 6] = [-1; 6];

/// The 32 bits of a C `int`.
fn bits(value: libc::c_int) -> u32 {
    value.cast_unsigned()
}

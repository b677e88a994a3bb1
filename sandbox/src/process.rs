//! What a process does to itself beside the two fences: no dumps, no capabilities, no new executable memory, limits, and
//! only the descriptors it was meant to have. Nothing here looks at a profile.

use std::io;
use std::os::fd::RawFd;

use crate::error::SandboxError;

/// Makes the process unreadable for others of the same user and private by default: not dumpable (no ptrace, no reading of
/// memory or environment through /proc; A-125), no core file, umask 077. The first thing in `main`, before a secret is read.
///
/// The kernel undoes "not dumpable" at every exec, so each program calls this for itself.
///
/// # Errors
/// [`SandboxError::Step`] when the kernel refuses one of them.
pub fn harden_process() -> Result<(), SandboxError> {
    prctl("make the process not dumpable", libc::PR_SET_DUMPABLE, 0)?;
    limit("set the core file limit", libc::RLIMIT_CORE, 0)?;
    // SAFETY: umask takes a number, cannot fail and touches no memory.
    unsafe { libc::umask(0o077) };
    Ok(())
}

/// Asks the kernel to kill this process when the thread that started it ends. That is the thread, not the process: a child
/// must be started from a thread that lives as long as the parent means to.
///
/// # Errors
/// [`SandboxError::Step`] when the kernel refuses.
pub(crate) fn die_with_parent() -> Result<(), SandboxError> {
    prctl(
        "ask for the death signal",
        libc::PR_SET_PDEATHSIG,
        libc::SIGKILL,
    )
}

/// Lets this process and what it starts hold at most `most` open descriptors, and fewer where a lower bound is in force.
///
/// # Errors
/// [`SandboxError::Step`] when the kernel refuses.
pub(crate) fn limit_descriptors(most: u64) -> Result<(), SandboxError> {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `now` is a live rlimit for the kernel to fill.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) } != 0 {
        return Err(SandboxError::last("read the descriptor limit"));
    }
    limit(
        "set the descriptor limit",
        libc::RLIMIT_NOFILE,
        most.min(now.rlim_max),
    )
}

/// Closes every descriptor from `first` on, so that a child has only what it was handed.
///
/// # Errors
/// [`SandboxError::Step`] when the kernel refuses.
pub(crate) fn keep_descriptors(first: RawFd) -> Result<(), SandboxError> {
    let first = libc::c_uint::try_from(first).unwrap_or(0);
    // SAFETY: the caller gives up every descriptor from `first` on; std's own three are below it, and nothing in this
    // process holds another as an owned value across this call (see `launcher.rs`).
    if unsafe { libc::close_range(first, libc::c_uint::MAX, 0) } != 0 {
        return Err(SandboxError::last("close inherited descriptors"));
    }
    Ok(())
}

/// Fails unless the calling thread is the only one. The kernel answers this without /proc, which a nested fence may not reach.
pub(crate) fn demand_single_thread() -> Result<(), SandboxError> {
    // SAFETY: unshare(CLONE_THREAD) changes nothing; it is refused with EINVAL when the thread group has a second member.
    if unsafe { libc::unshare(libc::CLONE_THREAD) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EINVAL) => Err(SandboxError::Threads),
        cause => Err(SandboxError::Step {
            step: "ask whether this is the only thread",
            cause,
        }),
    }
}

/// Sets no_new_privs, which both fences require and which takes set-id programs and file capabilities away for good.
pub(crate) fn forbid_new_privileges() -> Result<(), SandboxError> {
    prctl("set no_new_privs", libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Drops every capability, also from the bounding set, and looks whether they are gone, so that a host that starts the
/// program as root gets the same fence (DESIGN section 6).
pub(crate) fn drop_capabilities() -> Result<(), SandboxError> {
    const SETPCAP: u32 = 1 << 8; // CAP_SETPCAP, needed to shrink the bounding set; without it the set is beyond reach anyway
    if capabilities()?[0].effective & SETPCAP != 0 {
        for capability in 0..=63 {
            // SAFETY: prctl with numbers only.
            if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
                break; // EINVAL: past the last capability this kernel knows
            }
        }
    }
    let none = [CapabilityWord::default(); 2];
    let header = CapabilityHeader::current();
    // SAFETY: header and the two words are laid out as capset(2) version 3 reads them, and outlive the call.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) } != 0 {
        return Err(SandboxError::last("drop all capabilities"));
    }
    if holds_capabilities()? {
        Err(SandboxError::CapabilitiesHeld)
    } else {
        Ok(())
    }
}

/// Whether any capability is effective, permitted or inheritable.
pub(crate) fn holds_capabilities() -> Result<bool, SandboxError> {
    Ok(capabilities()? != [CapabilityWord::default(); 2])
}

/// Refuses memory that is writable and executable, and executable memory that was not so from the start, in this process;
/// a program it starts decides for itself, because an engine with a just-in-time compiler cannot live with it.
pub(crate) fn forbid_executable_memory() -> Result<(), SandboxError> {
    prctl(
        "refuse executable memory that was writable",
        libc::PR_SET_MDWE,
        (libc::PR_MDWE_REFUSE_EXEC_GAIN | libc::PR_MDWE_NO_INHERIT).cast_signed(),
    )
}

fn prctl(step: &'static str, option: libc::c_int, value: libc::c_int) -> Result<(), SandboxError> {
    let value = libc::c_ulong::from(value.cast_unsigned());
    let zero: libc::c_ulong = 0;
    // SAFETY: the options used here take plain numbers.
    if unsafe { libc::prctl(option, value, zero, zero, zero) } != 0 {
        return Err(SandboxError::last(step));
    }
    Ok(())
}

fn limit(
    step: &'static str,
    resource: libc::__rlimit_resource_t,
    most: u64,
) -> Result<(), SandboxError> {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: `limit` is a live rlimit the kernel only reads.
    if unsafe { libc::setrlimit(resource, &raw const limit) } != 0 {
        return Err(SandboxError::last(step));
    }
    Ok(())
}

/// `struct __user_cap_header_struct` of linux/capability.h.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

impl CapabilityHeader {
    fn current() -> CapabilityHeader {
        CapabilityHeader {
            version: 0x2008_0522,
            pid: 0,
        } // _LINUX_CAPABILITY_VERSION_3, the calling thread
    }
}

/// `struct __user_cap_data_struct` of linux/capability.h; version 3 takes two.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn capabilities() -> Result<[CapabilityWord; 2], SandboxError> {
    let header = CapabilityHeader::current();
    let mut words = [CapabilityWord::default(); 2];
    // SAFETY: header and the two words are laid out as capget(2) version 3 writes them, and outlive the call.
    if unsafe { libc::syscall(libc::SYS_capget, &raw const header, words.as_mut_ptr()) } != 0 {
        return Err(SandboxError::last("read the capabilities"));
    }
    Ok(words)
}

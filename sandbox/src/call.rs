//! System calls by name, in the groups profiles allow. Numbers come from the libc of the target and are never written here.

/// One system call of the target architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    symbol: &'static str,
    pub(crate) number: i64,
}

impl Call {
    /// Pairs a `SYS_…` symbol with its number.
    pub(crate) const fn new(symbol: &'static str, number: i64) -> Call {
        Call { symbol, number }
    }

    /// The name as manuals write it.
    pub(crate) fn name(self) -> &'static str {
        self.symbol.strip_prefix("SYS_").unwrap_or(self.symbol)
    }
}

/// A list of calls every supported architecture has.
macro_rules! calls {
    ($($symbol:ident)*) => { &[$($crate::call::Call::new(stringify!($symbol), libc::$symbol)),*] };
}

/// A list of calls only x86-64 has: older forms its C library may still make. Empty elsewhere.
macro_rules! x86_64_calls {
    ($($symbol:ident)*) => {{
        #[cfg(target_arch = "x86_64")]
        const LIST: &[$crate::call::Call] = calls!($($symbol)*);
        #[cfg(not(target_arch = "x86_64"))]
        const LIST: &[$crate::call::Call] = &[];
        LIST
    }};
}
pub(crate) use {calls, x86_64_calls};

/// Calls that are allowed for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    calls: &'static [Call],
    x86_64: &'static [Call],
}

impl Group {
    /// Every call of the group on this architecture.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.calls.iter().chain(self.x86_64).copied()
    }
}

pub(crate) const CORE: Group = Group {
    name: "core",
    why: "memory, descriptors, time, signals to itself, and questions about itself: no program runs without",
    calls: calls!(
        SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_close SYS_close_range SYS_lseek SYS_fstat
        SYS_newfstatat SYS_statx SYS_fcntl SYS_ioctl SYS_dup SYS_dup3 SYS_pipe2 SYS_ppoll SYS_pselect6 SYS_mmap SYS_mprotect
        SYS_munmap SYS_mremap SYS_madvise SYS_brk SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sigaltstack
        SYS_tgkill SYS_futex SYS_set_tid_address SYS_set_robust_list SYS_rseq SYS_membarrier SYS_prlimit64 SYS_prctl
        SYS_getrandom SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday SYS_exit
        SYS_exit_group SYS_restart_syscall SYS_getpid SYS_getppid SYS_gettid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid
        SYS_capget SYS_getrusage SYS_sched_yield SYS_sched_getaffinity SYS_uname SYS_sysinfo SYS_getcwd SYS_umask
    ),
    x86_64: x86_64_calls!(SYS_stat SYS_lstat SYS_dup2 SYS_pipe SYS_poll SYS_select SYS_arch_prctl SYS_getpgrp),
};

pub(crate) const THREADS: Group = Group {
    name: "threads",
    why: "a runtime starts threads; clone3 is left out because a filter cannot see its flags, and libc falls back to clone",
    calls: calls!(SYS_clone),
    x86_64: &[],
};

pub(crate) const EVENTS: Group = Group {
    name: "events",
    why: "an event loop waits for its descriptors",
    calls: calls!(SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_eventfd2),
    x86_64: x86_64_calls!(SYS_epoll_wait),
};

pub(crate) const FILE_READ: Group = Group {
    name: "file read",
    why: "opening and listing; which files is Landlock's to say",
    calls: calls!(SYS_openat SYS_openat2 SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_getdents64 SYS_preadv),
    x86_64: x86_64_calls!(SYS_open SYS_access SYS_readlink),
};

pub(crate) const FILE_WRITE: Group = Group {
    name: "file write",
    why: "replacing files by rename and syncing them; modes only through a descriptor that is already open",
    calls: calls!(
        SYS_renameat SYS_renameat2 SYS_unlinkat SYS_fsync SYS_fdatasync SYS_ftruncate SYS_fallocate SYS_fchmod SYS_flock
        SYS_pwritev
    ),
    x86_64: x86_64_calls!(SYS_rename SYS_unlink),
};

pub(crate) const FOLDERS: Group = Group {
    name: "folders",
    why: "folders of its own, write-once records by link, copies, and the time stamps that keep lock files alive (Landlock looks at none)",
    calls: calls!(SYS_mkdirat SYS_linkat SYS_chdir SYS_fchdir SYS_utimensat SYS_copy_file_range SYS_sendfile),
    x86_64: x86_64_calls!(SYS_mkdir SYS_rmdir SYS_link),
};

pub(crate) const ACCEPTED_STREAMS: Group = Group {
    name: "accepted streams",
    why: "serving connections of listeners bound before the fence; no call here makes a socket that leads out",
    calls: calls!(
        SYS_accept4 SYS_recvfrom SYS_sendto SYS_recvmsg SYS_sendmsg SYS_getsockopt SYS_setsockopt SYS_getsockname
        SYS_getpeername SYS_shutdown SYS_socketpair
    ),
    x86_64: &[],
};

pub(crate) const NET_CLIENT: Group = Group {
    name: "net client",
    why: "connections going out; which ports is Landlock's to say, which kinds of socket the refusals below",
    calls: calls!(
        SYS_socket SYS_connect SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg SYS_getsockopt
        SYS_setsockopt SYS_getsockname SYS_getpeername SYS_shutdown SYS_socketpair
    ),
    x86_64: &[],
};

pub(crate) const CHILDREN: Group = Group {
    name: "children",
    why: "starting the engine, watching it, and killing its group; Landlock lets only the launcher and node run",
    calls: calls!(SYS_clone SYS_execve SYS_wait4 SYS_waitid SYS_kill SYS_setpgid SYS_pidfd_open SYS_pidfd_send_signal),
    x86_64: &[],
};

pub(crate) const NARROWING: Group = Group {
    name: "narrowing",
    why: "the launcher enters the engine's own profile inside this one; these calls can only take away",
    calls: calls!(
        SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self SYS_seccomp SYS_capset SYS_unshare
    ),
    x86_64: &[],
};

pub(crate) const ENGINE_OWN: Group = Group {
    name: "engine",
    why: "node asks for its scheduling and sends signals to itself",
    calls: calls!(SYS_sched_getscheduler SYS_sched_getparam SYS_kill),
    x86_64: &[],
};

pub(crate) const EXEC_ONCE: Group = Group {
    name: "exec once",
    why: "the launcher becomes node; a refusal below makes this the only exec",
    calls: calls!(SYS_execve),
    x86_64: &[],
};

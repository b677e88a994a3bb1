//! System calls that are refused whatever a profile allows, by name or by their arguments. Only register arguments can be
//! judged: what a call reads through a pointer stays opaque to a filter.
//!
//! Refused calls answer with an error and do not kill. Killing would need no less trust in the list, would turn a C library
//! update into an outage, and could not be tried from inside a process that may not fork; with an error the self-test tries
//! every row at every start (reference landlock-seccomp.md, section 6, argues both ways; this is the decision).

use crate::call::{Call, calls, x86_64_calls};

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

fn always(calls: &[Call], why: &'static str) -> Refusal {
    Refusal {
        calls: calls.to_vec(),
        when: "",
        any_of: vec![],
        answer: Answer::Eperm,
        why,
        tries: vec![("", NONSENSE)],
    }
}

/// Calls no profile ever has. They are not in any group either; the row stays so that adding one to a group by mistake
/// changes nothing, and so that a reviewer finds them by name.
pub(crate) fn never() -> Vec<Refusal> {
    vec![
        always(
            calls!(SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_getfd SYS_kcmp),
            "reads or steers another process of the same user",
        ),
        always(
            calls!(SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register),
            "a ring makes calls this filter never sees",
        ),
        always(
            calls!(SYS_execveat SYS_memfd_create),
            "a file without a name runs past the rules for named files",
        ),
        always(
            calls!(SYS_setns SYS_chroot SYS_pivot_root),
            "Landlock lets a process change what its paths mean",
        ),
        always(
            calls!(
                SYS_mount SYS_umount2 SYS_mount_setattr SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig SYS_fsmount
                SYS_fspick
            ),
            "changes what paths lead to",
        ),
        always(
            calls!(SYS_open_by_handle_at SYS_name_to_handle_at),
            "opens files by number, past every path",
        ),
        always(
            calls!(
                SYS_fchmodat SYS_fchown SYS_fchownat SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_removexattr
                SYS_lremovexattr SYS_fremovexattr SYS_mknodat
            ),
            "Landlock does not look at modes, owners and attributes, on any path the process can name",
        ),
        always(
            x86_64_calls!(SYS_chmod SYS_chown SYS_lchown SYS_mknod),
            "the same by their older names",
        ),
        always(
            calls!(
                SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setgroups SYS_setfsuid
                SYS_setfsgid
            ),
            "another user is another fence",
        ),
        always(
            calls!(SYS_bpf SYS_perf_event_open SYS_userfaultfd),
            "large kernel surface with a history of escapes",
        ),
        always(
            calls!(SYS_keyctl SYS_add_key SYS_request_key),
            "keys of the user's session are not ours",
        ),
        always(
            calls!(SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_kexec_file_load SYS_reboot),
            "replaces the kernel",
        ),
        always(
            calls!(
                SYS_swapon SYS_swapoff SYS_quotactl SYS_acct SYS_sethostname SYS_setdomainname SYS_syslog SYS_clock_settime
                SYS_clock_adjtime SYS_settimeofday SYS_adjtimex SYS_personality SYS_fanotify_init
            ),
            "administers the machine",
        ),
        always(
            x86_64_calls!(SYS_iopl SYS_ioperm SYS_modify_ldt),
            "administers the processor",
        ),
    ]
}

/// Namespaces, in a profile that never asks for one.
pub(crate) fn unshare_always() -> Refusal {
    always(
        calls!(SYS_unshare),
        "a namespace of its own gives a process powers to attack the kernel with",
    )
}

/// Namespaces, in a profile whose launcher asks with `CLONE_THREAD` whether it is alone.
pub(crate) fn unshare_anything() -> Refusal {
    Refusal {
        calls: calls!(SYS_unshare).to_vec(),
        when: "for anything but the question whether this is the only thread (CLONE_THREAD)",
        any_of: vec![vec![Arg::IsNot(0, bits(libc::CLONE_THREAD))]],
        answer: Answer::Eperm,
        why: "a namespace of its own gives a process powers to attack the kernel with",
        tries: vec![("every flag", NONSENSE)],
    }
}

/// New processes, in a profile that starts none.
pub(crate) fn new_process() -> Refusal {
    Refusal {
        calls: calls!(SYS_clone).to_vec(),
        when: "without CLONE_THREAD",
        any_of: vec![vec![Arg::Masked(0, bits(libc::CLONE_THREAD), 0)]],
        answer: Answer::Eperm,
        why: "threads yes, processes no",
        // CLONE_SIGHAND without CLONE_VM is nonsense the kernel refuses with EINVAL.
        tries: vec![("a process", [i64::from(libc::CLONE_SIGHAND), 0, 0, 0, 0, 0])],
    }
}

/// Namespaces at the start of a child.
pub(crate) fn new_namespace() -> Refusal {
    const KINDS: &[(&str, libc::c_int)] = &[
        ("time", 0x80), // CLONE_NEWTIME
        ("mount", libc::CLONE_NEWNS),
        ("cgroup", libc::CLONE_NEWCGROUP),
        ("uts", libc::CLONE_NEWUTS),
        ("ipc", libc::CLONE_NEWIPC),
        ("user", libc::CLONE_NEWUSER),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
    ];
    Refusal {
        calls: calls!(SYS_clone).to_vec(),
        when: "with any CLONE_NEW… flag",
        any_of: KINDS
            .iter()
            .map(|(_, flag)| vec![Arg::Masked(0, bits(*flag), bits(*flag))])
            .collect(),
        answer: Answer::Eperm,
        why: "children live in the same namespaces as their parent",
        // With CLONE_SIGHAND and without CLONE_VM the kernel refuses with EINVAL, so that a missing rule starts nothing.
        tries: KINDS
            .iter()
            .map(|(name, flag)| {
                (
                    *name,
                    [i64::from(flag | libc::CLONE_SIGHAND), 0, 0, 0, 0, 0],
                )
            })
            .collect(),
    }
}

/// Programs, after the launcher became the one it was told to.
pub(crate) fn second_exec() -> Refusal {
    Refusal {
        calls: calls!(SYS_execve).to_vec(),
        when: "unless the path stands at the launcher's secret address",
        any_of: vec![vec![Arg::NotLauncherPath(0)]],
        answer: Answer::Eperm,
        why: "the address is random, unreadable from inside, and gone with the launcher's memory",
        tries: vec![("anything", NONSENSE)],
    }
}

/// Limits and scheduling of other processes.
pub(crate) fn foreign_limits() -> Refusal {
    Refusal {
        calls: calls!(SYS_prlimit64).to_vec(),
        when: "for a pid, even its own",
        any_of: vec![vec![Arg::IsNot(0, 0)]],
        answer: Answer::Eperm,
        why: "Landlock does not stop limits being set on another process of the same user",
        tries: vec![("a pid that is nobody's", [-1, 0, 0, 0, 0, 0])],
    }
}

/// Process controls beyond the names of threads.
pub(crate) fn process_controls() -> Refusal {
    prctl_other_than(
        &[libc::PR_SET_NAME, libc::PR_GET_NAME],
        "other than thread names",
    )
}

/// Process controls in a profile whose launcher must harden itself.
pub(crate) fn process_controls_of_a_launcher() -> Refusal {
    let mut row = prctl_other_than(
        &[
            libc::PR_SET_NAME,
            libc::PR_GET_NAME,
            libc::PR_SET_NO_NEW_PRIVS,
            libc::PR_SET_PDEATHSIG,
            libc::PR_SET_DUMPABLE,
        ],
        "other than thread names and the launcher's own hardening; becoming dumpable",
    );
    row.any_of.push(vec![
        Arg::Is(0, bits(libc::PR_SET_DUMPABLE)),
        Arg::IsNot(1, 0),
    ]);
    row.tries.push((
        "dumpable",
        [i64::from(libc::PR_SET_DUMPABLE), 1, 0, 0, 0, 0],
    ));
    row
}

fn prctl_other_than(options: &[libc::c_int], when: &'static str) -> Refusal {
    Refusal {
        calls: calls!(SYS_prctl).to_vec(),
        when,
        any_of: vec![
            options
                .iter()
                .map(|option| Arg::IsNot(0, bits(*option)))
                .collect(),
        ],
        answer: Answer::Eperm,
        why: "the other controls loosen what was tightened at start",
        tries: vec![(
            "timer slack",
            [i64::from(libc::PR_GET_TIMERSLACK), 0, 0, 0, 0, 0],
        )],
    }
}

/// Device controls.
pub(crate) fn device_controls() -> Refusal {
    let known = [
        libc::FIONBIO,
        libc::FIONREAD,
        libc::FIOCLEX,
        libc::TCGETS,
        libc::TIOCGWINSZ,
    ];
    Refusal {
        calls: calls!(SYS_ioctl).to_vec(),
        when: "other than FIONBIO, FIONREAD, FIOCLEX, TCGETS, TIOCGWINSZ",
        any_of: vec![
            known
                .iter()
                .map(|request| Arg::IsNot(1, low(*request)))
                .collect(),
        ],
        answer: Answer::Eperm,
        why: "TIOCSTI and TIOCLINUX type into the operator's terminal; the rest is surface",
        tries: vec![
            ("TIOCSTI", [-1, i64::from(low(libc::TIOCSTI)), 0, 0, 0, 0]),
            (
                "TIOCSTI with noise above",
                [-1, i64::from(low(libc::TIOCSTI)) | (1 << 32), 0, 0, 0, 0],
            ),
            (
                "TIOCLINUX",
                [-1, i64::from(low(libc::TIOCLINUX)), 0, 0, 0, 0],
            ),
        ],
    }
}

/// Set-id and sticky bits.
pub(crate) fn set_id_modes() -> Refusal {
    Refusal {
        calls: calls!(SYS_fchmod).to_vec(),
        when: "with a set-id or sticky bit",
        any_of: [0o4000, 0o2000, 0o1000]
            .iter()
            .map(|bit| vec![Arg::Masked(1, *bit, *bit)])
            .collect(),
        answer: Answer::Eperm,
        why: "a file written here never runs as somebody else (A-26)",
        tries: vec![
            ("04755", [-1, 0o4755, 0, 0, 0, 0]),
            ("02755", [-1, 0o2755, 0, 0, 0, 0]),
            ("01755", [-1, 0o1755, 0, 0, 0, 0]),
        ],
    }
}

const STREAM: u32 = libc::SOCK_STREAM.cast_unsigned();
const DGRAM: u32 = libc::SOCK_DGRAM.cast_unsigned();
const SOCK_TYPE_MASK: u32 = 0xf;

/// Which sockets a profile may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// TCP over IPv4 and IPv6.
    Tcp,
    /// TCP, and UDP for a resolver.
    TcpUdp,
    /// TCP, UDP for a resolver, and Unix streams for the control socket.
    TcpUdpUnix,
}

/// Families, types and protocols of sockets, one row each.
pub(crate) fn sockets(kind: Sockets) -> Vec<Refusal> {
    let unix = kind == Sockets::TcpUdpUnix;
    let udp = kind != Sockets::Tcp;
    let mut families = vec![
        Arg::IsNot(0, bits(libc::AF_INET)),
        Arg::IsNot(0, bits(libc::AF_INET6)),
    ];
    let mut family_tries = vec![
        ("AF_NETLINK", socket_of(libc::AF_NETLINK, libc::SOCK_RAW, 0)),
        ("AF_VSOCK", socket_of(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
        ("AF_PACKET", socket_of(libc::AF_PACKET, libc::SOCK_RAW, 0)),
        ("AF_ALG", socket_of(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ];
    if unix {
        families.push(Arg::IsNot(0, bits(libc::AF_UNIX)));
    } else {
        family_tries.push(("AF_UNIX", socket_of(libc::AF_UNIX, libc::SOCK_STREAM, 0)));
    }
    let types = (0..=SOCK_TYPE_MASK).filter(|kind| *kind != STREAM && !(udp && *kind == DGRAM));
    let mut type_tries = vec![
        (
            "raw",
            socket_of(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        ),
        (
            "SCTP sequence",
            socket_of(libc::AF_INET, libc::SOCK_SEQPACKET, 132),
        ),
    ];
    if !udp {
        type_tries.push((
            "datagram",
            socket_of(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0),
        ));
    }
    let socket = |when, any_of, why, tries| Refusal {
        calls: calls!(SYS_socket).to_vec(),
        when,
        any_of,
        answer: Answer::Eafnosupport,
        why,
        tries,
    };
    let mut rows = vec![
        socket(
            if unix {
                "of a family other than INET, INET6, UNIX"
            } else {
                "of a family other than INET, INET6"
            },
            vec![families],
            if unix {
                "netlink, vsock, packet sockets and the rest pass Landlock by"
            } else {
                "pathname sockets (session bus, container daemon, the broker's own), netlink and vsock pass Landlock by (A-123)"
            },
            family_tries,
        ),
        socket(
            if udp {
                "of a type other than stream and datagram"
            } else {
                "of a type other than stream"
            },
            types
                .map(|kind| vec![Arg::Masked(1, SOCK_TYPE_MASK, kind)])
                .collect(),
            if udp {
                "raw and sequenced sockets pass the port rules by"
            } else {
                "datagrams pass the port rules by"
            },
            type_tries,
        ),
        socket(
            "of type stream with a protocol other than 0 and TCP",
            vec![vec![
                Arg::Masked(1, SOCK_TYPE_MASK, STREAM),
                Arg::IsNot(2, 0),
                Arg::IsNot(2, bits(libc::IPPROTO_TCP)),
            ]],
            "an MPTCP socket talks to plain TCP listeners on any port, past the port rules",
            vec![(
                "MPTCP",
                socket_of(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP),
            )],
        ),
    ];
    if udp {
        rows.push(socket(
            "of type datagram with a protocol other than 0 and UDP",
            vec![vec![
                Arg::Masked(1, SOCK_TYPE_MASK, DGRAM),
                Arg::IsNot(2, 0),
                Arg::IsNot(2, bits(libc::IPPROTO_UDP)),
            ]],
            "datagrams are for the resolver only",
            vec![(
                "ICMP",
                socket_of(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
            )],
        ));
    }
    if unix {
        rows.push(socket(
            "of family UNIX and type datagram",
            vec![vec![Arg::Is(0, bits(libc::AF_UNIX)), Arg::Masked(1, SOCK_TYPE_MASK, DGRAM)]],
            "the control socket is a stream; the system log and notify sockets are not its business",
            vec![("AF_UNIX datagram", socket_of(libc::AF_UNIX, libc::SOCK_DGRAM, 0))],
        ));
    }
    rows
}

/// Pairs of sockets other than Unix ones.
pub(crate) fn socket_pairs() -> Refusal {
    Refusal {
        calls: calls!(SYS_socketpair).to_vec(),
        when: "of a family other than UNIX",
        any_of: vec![vec![Arg::IsNot(0, bits(libc::AF_UNIX))]],
        answer: Answer::Eafnosupport,
        why: "a pair is for talking to oneself",
        tries: vec![(
            "AF_TIPC",
            [
                i64::from(libc::AF_TIPC),
                i64::from(libc::SOCK_STREAM),
                0,
                -1,
                0,
                0,
            ],
        )],
    }
}

/// Connecting by sending.
pub(crate) fn fast_open() -> Vec<Refusal> {
    let row = |call: &[Call], flags: u8| {
        let mut nonsense = [-1, 0, 0, 0, 0, 0];
        nonsense[usize::from(flags)] = i64::from(libc::MSG_FASTOPEN);
        Refusal {
            calls: call.to_vec(),
            when: "with MSG_FASTOPEN",
            any_of: vec![vec![Arg::Masked(
                flags,
                bits(libc::MSG_FASTOPEN),
                bits(libc::MSG_FASTOPEN),
            )]],
            answer: Answer::Eperm,
            why: "it connects without asking the port rules (A-122)",
            tries: vec![("MSG_FASTOPEN", nonsense)],
        }
    };
    vec![
        row(calls!(SYS_sendto), 3),
        row(calls!(SYS_sendmsg), 2),
        row(calls!(SYS_sendmmsg), 3),
    ]
}

fn socket_of(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> [i64; 6] {
    [
        i64::from(family),
        i64::from(kind),
        i64::from(protocol),
        0,
        0,
        0,
    ]
}

/// The 32 bits of a C `int`.
fn bits(value: libc::c_int) -> u32 {
    value.cast_unsigned()
}

/// The 32 bits the kernel looks at in an ioctl request.
fn low(request: libc::Ioctl) -> u32 {
    (request & 0xffff_ffff) as u32
}

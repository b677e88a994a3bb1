//! Calls a profile makes, refused for some arguments: processes, programs, limits, controls, modes.

use super::{Answer, Arg, NONSENSE, Refusal, bits};
use crate::call::calls;

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

/// The 32 bits the kernel looks at in an ioctl request.
fn low(request: libc::Ioctl) -> u32 {
    (request & 0xffff_ffff) as u32
}

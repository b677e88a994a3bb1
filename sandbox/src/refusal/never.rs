//! Calls that are refused always, by name.

use super::{Answer, NONSENSE, Refusal};
use crate::call::{Call, calls, x86_64_calls};

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

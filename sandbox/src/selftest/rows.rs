//! Turns the rows of a profile into attempts: one at least for every denial a kernel of the running ABI holds, one for every
//! grant that can be looked at without changing anything.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, AccessNet, Scope};

use super::ground::Ground;
use super::probe::{Probe, c_path, connect, open, raw};
use crate::call::{Call, calls};
use crate::files::{DeniedRight, FileRow, Place};
use crate::landlock_rules;
use crate::process;
use crate::profile::{ExecutableMemory, Profile, Unlisted};

/// A call of no group and no refusal: what a filter without an end would let pass.
const UNLISTED: &[Call] = calls!(SYS_getpriority SYS_clone3 SYS_inotify_init1);

/// Every attempt for `profile`, whose rows are those the running kernel holds.
pub(super) fn probes(profile: &Profile, ground: Option<&Ground>) -> Vec<Probe> {
    let mut probes = vec![];
    probes.extend(profile.files.iter().filter_map(granted));
    probes.extend(
        profile
            .denied_rights
            .iter()
            .filter_map(|row| right(profile, row, ground)),
    );
    probes.extend(
        profile
            .denied_net
            .iter()
            .filter_map(|row| net(profile, row.right, row.name)),
    );
    probes.extend(
        profile
            .denied_scopes
            .iter()
            .filter_map(|row| scope(profile, row.scope, row.name, ground)),
    );
    probes.push(Probe::denied(
        "hold a capability".to_owned(),
        vec![libc::EPERM],
        hold_capability,
    ));
    probes.extend(executable_memory(profile));
    probes.extend(refusals(profile));
    probes.extend(unlisted(profile));
    probes
}

/// Grants that must work: a fence that is narrower than its profile is a start error too, not a riddle at the first call.
fn granted(row: &FileRow) -> Option<Probe> {
    let Place::Path(path) = &row.place else {
        return None;
    };
    let readable = row.grant.rights.contains(AccessFs::ReadFile);
    let listable = row.grant.rights.contains(AccessFs::ReadDir);
    let there = landlock_rules::present(row) && readable && (listable || !path.is_dir());
    there.then(|| Probe::open_works(path))
}

/// What the fence may answer to an attempt that makes `calls` and then meets Landlock: Landlock's own answer, or the
/// filter's, which comes first.
fn answers(profile: &Profile, calls: &[Call], landlock: &[i32]) -> Vec<i32> {
    let filter = calls
        .iter()
        .flat_map(|call| profile.answers(*call))
        .map(crate::refusal::Answer::errno);
    let mut answers: Vec<i32> = landlock.iter().copied().chain(filter).collect();
    answers.sort_unstable();
    answers.dedup();
    answers
}

fn right(profile: &Profile, row: &DeniedRight, ground: Option<&Ground>) -> Option<Probe> {
    let outside = ground.map(|ground| Outside::of(ground, row.name));
    let (calls, attempt): (&[Call], Attempt) = match row.right {
        // Where a file may be read but not run, only the caller knows one to try: `Probe::exec_denied`.
        AccessFs::Execute => return Some(Probe::exec_denied("/bin/sh".as_ref())),
        AccessFs::ReadFile => (
            &[],
            Attempt::of("/etc/passwd", || open("/etc/passwd".as_ref())),
        ),
        AccessFs::ReadDir => (&[], Attempt::of("/", || open("/".as_ref()))),
        AccessFs::WriteFile => (
            &[],
            Attempt::of("/dev/zero", || {
                std::fs::OpenOptions::new()
                    .write(true)
                    .open("/dev/zero")
                    .map(drop)
            }),
        ),
        AccessFs::IoctlDev => (&[], Attempt::of("/dev/null", ask_device)),
        AccessFs::Truncate => (
            calls!(SYS_truncate),
            path_call(calls!(SYS_truncate)[0], 0, &outside?.file, [0; 6]),
        ),
        AccessFs::MakeReg => (calls!(SYS_mknodat), make_node(&outside?, libc::S_IFREG)),
        AccessFs::MakeSock => (calls!(SYS_mknodat), make_node(&outside?, libc::S_IFSOCK)),
        AccessFs::MakeFifo => (calls!(SYS_mknodat), make_node(&outside?, libc::S_IFIFO)),
        AccessFs::MakeChar => (calls!(SYS_mknodat), make_node(&outside?, libc::S_IFCHR)),
        AccessFs::MakeBlock => (calls!(SYS_mknodat), make_node(&outside?, libc::S_IFBLK)),
        AccessFs::MakeDir => (
            calls!(SYS_mkdirat),
            path_call(
                calls!(SYS_mkdirat)[0],
                1,
                &outside?.fresh,
                [AT_CWD, 0, 0o700, 0, 0, 0],
            ),
        ),
        AccessFs::MakeSym => (calls!(SYS_symlinkat), make_link(&outside?)),
        AccessFs::RemoveFile => (
            calls!(SYS_unlinkat),
            path_call(
                calls!(SYS_unlinkat)[0],
                1,
                &outside?.file,
                [AT_CWD, 0, 0, 0, 0, 0],
            ),
        ),
        AccessFs::RemoveDir => {
            let flags = i64::from(libc::AT_REMOVEDIR);
            (
                calls!(SYS_unlinkat),
                path_call(
                    calls!(SYS_unlinkat)[0],
                    1,
                    &outside?.folder,
                    [AT_CWD, 0, flags, 0, 0, 0],
                ),
            )
        }
        AccessFs::Refer => (calls!(SYS_renameat2), move_across(&outside?)),
        // Rights newer than any kernel this was run on are denied but not tried: an untested attempt would stop a start.
        _ => return None,
    };
    let landlock: &[i32] = if row.right == AccessFs::Refer {
        &[libc::EXDEV, libc::EACCES]
    } else {
        &[libc::EACCES]
    };
    let phrase = format!("{}: {}", row.name, attempt.target.display());
    Some(Probe::denied(
        phrase,
        answers(profile, calls, landlock),
        attempt.act,
    ))
}

const AT_CWD: i64 = libc::AT_FDCWD as i64;

/// The ground's paths, owned by an attempt.
struct Outside {
    file: PathBuf,
    folder: PathBuf,
    fresh: PathBuf,
}

impl Outside {
    fn of(ground: &Ground, attempt: &str) -> Outside {
        Outside {
            file: ground.file(),
            folder: ground.folder(),
            fresh: ground.fresh(attempt),
        }
    }
}

/// What to try on which path.
struct Attempt {
    target: PathBuf,
    act: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
}

impl Attempt {
    fn of(
        target: impl Into<PathBuf>,
        act: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Attempt {
        Attempt {
            target: target.into(),
            act: Box::new(act),
        }
    }
}

/// `call` with the path as argument `at` and the rest as given.
fn path_call(call: Call, at: usize, target: &Path, arguments: [i64; 6]) -> Attempt {
    let path = c_path(target);
    Attempt::of(target, move || {
        let mut arguments = arguments;
        arguments[at] = path.as_ptr() as i64;
        raw(call, arguments)
    })
}

/// A node without a device number: that kind needs no capability, so only the fence says no.
fn make_node(outside: &Outside, kind: libc::mode_t) -> Attempt {
    path_call(
        calls!(SYS_mknodat)[0],
        1,
        &outside.fresh,
        [AT_CWD, 0, i64::from(kind | 0o600), 0, 0, 0],
    )
}

fn make_link(outside: &Outside) -> Attempt {
    let path = c_path(&outside.fresh);
    Attempt::of(&outside.fresh, move || {
        raw(
            calls!(SYS_symlinkat)[0],
            [
                c"file".as_ptr() as i64,
                AT_CWD,
                path.as_ptr() as i64,
                0,
                0,
                0,
            ],
        )
    })
}

fn move_across(outside: &Outside) -> Attempt {
    let (from, to) = (c_path(&outside.file), c_path(&outside.folder.join("file")));
    Attempt::of(&outside.file, move || {
        raw(
            calls!(SYS_renameat2)[0],
            [
                AT_CWD,
                from.as_ptr() as i64,
                AT_CWD,
                to.as_ptr() as i64,
                0,
                0,
            ],
        )
    })
}

/// The right is fixed when a device is opened; where none can be opened there is none to ask.
fn ask_device() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let device = std::fs::File::open("/dev/null")?;
    raw(
        calls!(SYS_ioctl)[0],
        [
            device.as_raw_fd().into(),
            i64::from(libc::TCGETS as u32),
            0,
            0,
            0,
            0,
        ],
    )
}

fn net(profile: &Profile, right: AccessNet, name: &str) -> Option<Probe> {
    match right {
        AccessNet::ConnectTcp => {
            // Discard and its neighbours: nobody's model or Discord, and harmless when they answer.
            let port = [9, 7, 13, 19]
                .into_iter()
                .find(|port| profile.ports.iter().all(|row| row.port != *port))?;
            let expected = answers(profile, calls!(SYS_socket SYS_connect), &[libc::EACCES]);
            Some(Probe::denied(
                format!("{name}: port {port}"),
                expected,
                move || connect(port),
            ))
        }
        AccessNet::BindTcp => {
            let expected = answers(profile, calls!(SYS_socket SYS_bind), &[libc::EACCES]);
            let act = || std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).map(drop);
            Some(Probe::denied(format!("{name}: any port"), expected, act))
        }
        _ => None, // newer than any kernel this was run on, as above
    }
}

fn scope(profile: &Profile, scope: Scope, name: &str, ground: Option<&Ground>) -> Option<Probe> {
    match scope {
        Scope::Signal => {
            let expected = answers(profile, calls!(SYS_kill), &[libc::EPERM]);
            // SAFETY: getppid takes nothing and cannot fail.
            let parent = unsafe { libc::getppid() };
            // Without a visible parent (the first process of a container's namespace) there is nobody outside to signal.
            (parent > 0).then(|| {
                Probe::denied(format!("{name}: the parent"), expected, move || {
                    raw(calls!(SYS_kill)[0], [parent.into(), 0, 0, 0, 0, 0])
                })
            })
        }
        Scope::AbstractUnixSocket => {
            let expected = answers(profile, calls!(SYS_socket SYS_connect), &[libc::EPERM]);
            let ground = ground?.socket();
            Some(Probe::denied(
                format!("{name}: one of before"),
                expected,
                move || ground.connect(),
            ))
        }
        _ => None,
    }
}

fn hold_capability() -> io::Result<()> {
    match process::holds_capabilities() {
        Ok(true) => Ok(()),
        Ok(false) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn executable_memory(profile: &Profile) -> Vec<Probe> {
    if profile.executable_memory == ExecutableMemory::Needed {
        return vec![];
    }
    vec![
        Probe::denied(
            "executable memory: writable at once".to_owned(),
            vec![libc::EACCES],
            || map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC, None),
        ),
        Probe::denied(
            "executable memory: written before".to_owned(),
            vec![libc::EACCES],
            || {
                map(
                    libc::PROT_READ | libc::PROT_WRITE,
                    Some(libc::PROT_READ | libc::PROT_EXEC),
                )
            },
        ),
    ]
}

/// Maps a page, changes its protection when told to, and unmaps it.
fn map(first: libc::c_int, then: Option<libc::c_int>) -> io::Result<()> {
    const PAGE: usize = 4096;
    // SAFETY: a fresh anonymous page at an address of the kernel's choice.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGE,
            first,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the page was just mapped and nothing refers to it.
    let changed =
        then.is_none_or(|protection| unsafe { libc::mprotect(page, PAGE, protection) } == 0);
    let error = io::Error::last_os_error();
    // SAFETY: as above; it is not used afterwards.
    unsafe { libc::munmap(page, PAGE) };
    if changed { Ok(()) } else { Err(error) }
}

/// Every refusal, on every call it names, with arguments that meet its condition. The answer must be the row's own.
fn refusals(profile: &Profile) -> Vec<Probe> {
    let mut probes = vec![];
    for row in &profile.refusals {
        for call in row.calls.iter().copied() {
            for (with, arguments) in row.tries.iter().copied() {
                let phrase = if with.is_empty() {
                    call.name().to_owned()
                } else {
                    format!("{}: {with}", call.name())
                };
                probes.push(Probe::denied(phrase, vec![row.answer.errno()], move || {
                    raw(call, arguments)
                }));
            }
        }
    }
    probes
}

fn unlisted(profile: &Profile) -> Vec<Probe> {
    match profile.unlisted {
        Unlisted::Enosys => UNLISTED
            .iter()
            .map(|call| {
                Probe::denied(
                    format!("unlisted: {}", call.name()),
                    vec![libc::ENOSYS],
                    || raw(*call, [0; 6]),
                )
            })
            .collect(),
        #[cfg(test)]
        Unlisted::Allowed => vec![],
    }
}

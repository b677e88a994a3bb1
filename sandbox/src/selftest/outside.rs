//! Attempts on what Landlock denies: something outside the fence for each right, port and scope.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{AccessFs, AccessNet, Scope};

use super::ground::Ground;
use super::probe::{Probe, c_path, connect, open, raw};
use crate::call::{Call, calls};
use crate::files::DeniedRight;
use crate::profile::Profile;

pub(super) fn right(
    profile: &Profile,
    row: &DeniedRight,
    ground: Option<&Ground>,
) -> Option<Probe> {
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
            )
            .in_folder(),
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

    /// Told by the folder in which something new is made.
    fn in_folder(mut self) -> Attempt {
        self.target.pop();
        self
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
    .in_folder()
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
    .in_folder()
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

pub(super) fn net(profile: &Profile, right: AccessNet, name: &str) -> Option<Probe> {
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

pub(super) fn scope(
    profile: &Profile,
    scope: Scope,
    name: &str,
    ground: Option<&Ground>,
) -> Option<Probe> {
    match scope {
        Scope::Signal => {
            let expected = answers(profile, calls!(SYS_kill), &[libc::EPERM]);
            // SAFETY: getppid takes nothing and cannot fail.
            let parent = unsafe { libc::getppid() };
            // Without a visible parent (the first process of a container's namespace) there is nobody outside to signal.
            (parent > 0).then(|| {
                Probe::denied(name.to_owned(), expected, move || {
                    raw(calls!(SYS_kill)[0], [parent.into(), 0, 0, 0, 0, 0])
                })
            })
        }
        Scope::AbstractUnixSocket => {
            let expected = answers(profile, calls!(SYS_socket SYS_connect), &[libc::EPERM]);
            let ground = ground?.socket();
            Some(Probe::denied(name.to_owned(), expected, move || {
                ground.connect()
            }))
        }
        _ => None,
    }
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

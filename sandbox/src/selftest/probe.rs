//! One attempt: something to try and the answers that show the fence at work. An answer the kernel would also give without
//! the fence proves nothing and is not accepted.

use std::ffi::CString;
use std::fmt::{self, Debug, Formatter};
use std::fs::OpenOptions;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::report::Row;
use crate::call::{Call, calls};

/// Opens that must neither wait for a fifo's writer nor take over a terminal.
const CAREFUL: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

/// Attempt of the self-test. Callers add their own for what only they know: the other side's folder, a secret, a socket.
pub struct Probe {
    attempt: String,
    expected: Expected,
    act: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
}

/// What the fence must answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// One of these errors.
    Denied(Vec<i32>),
    /// No error.
    Works,
}

impl Debug for Probe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("attempt", &self.attempt)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

impl Probe {
    /// Reading `path`, a file or folder that exists, must be denied.
    #[must_use]
    pub fn open_denied(path: &Path) -> Probe {
        let owned = path.to_owned();
        Probe::denied(
            format!("read {}", path.display()),
            vec![libc::EACCES],
            move || open(&owned),
        )
    }

    /// Writing to `path`, a file that exists and whose mode would let this user, must be denied. Nothing is written.
    #[must_use]
    pub fn write_denied(path: &Path) -> Probe {
        let owned = path.to_owned();
        Probe::denied(
            format!("write {}", path.display()),
            vec![libc::EACCES],
            move || {
                OpenOptions::new()
                    .write(true)
                    .custom_flags(CAREFUL)
                    .open(&owned)
                    .map(drop)
            },
        )
    }

    /// Creating a file in `folder`, which exists, must be denied. What appears all the same is removed.
    #[must_use]
    pub fn create_denied(folder: &Path) -> Probe {
        let path = folder.join(".mosaic-selftest");
        Probe::denied(
            format!("create a file in {}", folder.display()),
            vec![libc::EACCES],
            move || {
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&path)?;
                std::fs::remove_file(&path)
            },
        )
    }

    /// Connecting to `port` on this host over TCP must be denied, by the port rules or for want of a socket.
    #[must_use]
    pub fn connect_denied(port: u16) -> Probe {
        let answers = vec![libc::EACCES, libc::ENOSYS, libc::EAFNOSUPPORT];
        Probe::denied(format!("connect to TCP port {port}"), answers, move || {
            connect(port)
        })
    }

    /// Connecting to the Unix socket at `path` must be denied, which before Landlock ABI 9 only a profile without Unix
    /// sockets does.
    #[must_use]
    pub fn unix_connect_denied(path: &Path) -> Probe {
        let owned = path.to_owned();
        let answers = vec![libc::EACCES, libc::ENOSYS, libc::EAFNOSUPPORT];
        Probe::denied(
            format!("connect to {}", path.display()),
            answers,
            move || UnixStream::connect(&owned).map(drop),
        )
    }

    /// Starting `path`, a program whose mode would let this user, must be denied. Nothing is started: the argument list is
    /// invalid, which the kernel looks at after it opened the program (Linux 6.8).
    #[must_use]
    pub fn exec_denied(path: &Path) -> Probe {
        let owned = c_path(path);
        let answers = vec![libc::EACCES, libc::EPERM, libc::ENOSYS];
        Probe::denied(format!("execute {}", path.display()), answers, move || {
            raw(
                calls!(SYS_execve)[0],
                [owned.as_ptr() as i64, -1, 0, 0, 0, 0],
            )
        })
    }

    /// Reading `path` must work.
    #[must_use]
    pub fn open_works(path: &Path) -> Probe {
        let owned = path.to_owned();
        let act = move || open(&owned);
        Probe {
            attempt: format!("read {}", path.display()),
            expected: Expected::Works,
            act: Box::new(act),
        }
    }

    pub(super) fn denied(
        attempt: String,
        errnos: Vec<i32>,
        act: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Probe {
        Probe {
            attempt,
            expected: Expected::Denied(errnos),
            act: Box::new(act),
        }
    }

    pub(super) fn attempt(&self) -> Row {
        let answer = match (self.act)() {
            Ok(()) => None,
            // An error without a number is the standard library's own, never the kernel's.
            Err(error) => Some(error.raw_os_error().unwrap_or(0)),
        };
        let (expected, held) = match &self.expected {
            Expected::Denied(errnos) => {
                let names: Vec<_> = errnos.iter().map(|errno| errno_name(*errno)).collect();
                (
                    names.join(" or "),
                    answer.is_some_and(|errno| errnos.contains(&errno)),
                )
            }
            Expected::Works => ("works".to_owned(), answer.is_none()),
        };
        let answer = answer.map_or_else(|| "works".to_owned(), errno_name);
        Row {
            attempt: self.attempt.clone(),
            expected,
            answer,
            held,
            denial: self.expected != Expected::Works,
        }
    }
}

/// Makes a call by number, so that no library stands between the attempt and the filter.
pub(super) fn raw(call: Call, arguments: [i64; 6]) -> io::Result<()> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: attempts pass numbers, null or invalid pointers, or pointers to data their closure owns; with those no call
    // attempted here writes to memory of this process.
    match unsafe { libc::syscall(call.number, a, b, c, d, e, f) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

pub(super) fn open(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .read(true)
        .custom_flags(CAREFUL)
        .open(path)
        .map(drop)
}

pub(super) fn connect(port: u16) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).map(drop)
}

/// The path as the kernel takes it.
pub(super) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect(
        "paths of attempts come from the profile, which opened them, or are written in the program",
    )
}

fn errno_name(errno: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (libc::EPERM, "EPERM"),
        (libc::EACCES, "EACCES"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::EXDEV, "EXDEV"),
        (libc::ENOENT, "ENOENT"),
        (libc::EINVAL, "EINVAL"),
        (libc::EFAULT, "EFAULT"),
        (libc::EBADF, "EBADF"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
    ];
    NAMES
        .iter()
        .find(|name| name.0 == errno)
        .map_or_else(|| format!("errno {errno}"), |name| name.1.to_owned())
}

//! Binds `control.sock` and `tools.sock` in a folder nobody else can write, before the process is confined. Removes a
//! socket only when nobody listens on it, and nothing that is not a socket.

use std::{
    io,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
};

use nix::sys::stat::{Mode, umask};
use rustix::fs::FileType;

use crate::private::{Folder, PrivateError, name_of};

/// Name of the connector's socket.
pub(crate) const CONTROL: &str = "control.sock";
/// Name of the engine's socket.
pub(crate) const TOOLS: &str = "tools.sock";

/// Bytes of a socket's path that the kernel takes, without the closing NUL.
const LONGEST_PATH: usize = 107;

/// Both sockets, bound. Their names stay in the folder when the broker ends: once confined it has no right to the folder,
/// and the next start takes them away. Until then a client is told that nobody answers.
pub(crate) struct Sockets {
    pub(crate) control: UnixListener,
    pub(crate) tools: UnixListener,
}

/// Why a socket was not bound. Nothing was removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error(
        "the path {path} has {length} bytes, and a socket's path may have {LONGEST_PATH}. Choose a shorter folder with --runtime-dir."
    )]
    TooLong { path: PathBuf, length: usize },
    #[error("{path} is {found}, where the broker's socket belongs. Move it away and try again.")]
    Occupied { path: PathBuf, found: &'static str },
    #[error(
        "another process answers on {path}. Stop it, or choose another folder with --runtime-dir."
    )]
    Alive { path: PathBuf },
    #[error("{path} cannot be bound: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// Says whether sockets in `folder` would have paths the kernel takes.
pub(crate) fn check_length(folder: &Path) -> Result<(), BindError> {
    for name in [CONTROL, TOOLS] {
        let path = folder.join(name);
        let length = path.as_os_str().len();
        if length > LONGEST_PATH {
            return Err(BindError::TooLong { path, length });
        }
    }
    Ok(())
}

/// Binds both sockets in `folder` with mode 0600. The caller holds the lock of the binding, so a socket that nobody
/// answers on is a dead broker's.
pub(crate) fn bind(folder: &Folder) -> Result<Sockets, BindError> {
    check_length(folder.path())?;
    let paths = [CONTROL, TOOLS].map(|name| folder.path().join(name));
    for path in &paths {
        expect_replaceable(path)?;
    }
    for path in &paths {
        remove_stale(path)?;
    }
    // By umask and not by chmod afterwards: there is no moment in which others could connect.
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = bind_one(&paths[0]).and_then(|control| Ok((control, bind_one(&paths[1])?)));
    umask(before);
    let (control, tools) = bound?;
    Ok(Sockets { control, tools })
}

#[expect(clippy::disallowed_methods, reason = "the listener owns the sockets")]
fn bind_one(path: &Path) -> Result<UnixListener, BindError> {
    let listener = UnixListener::bind(path).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|source| BindError::Io {
        path: path.to_owned(),
        source,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "asks whether somebody listens, before the broker is confined"
)]
fn expect_replaceable(path: &Path) -> Result<(), BindError> {
    let stat = match rustix::fs::lstat(path) {
        Ok(stat) => stat,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => {
            return Err(BindError::Io {
                path: path.to_owned(),
                source: error.into(),
            });
        }
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::Socket {
        return Err(BindError::Occupied {
            path: path.to_owned(),
            found: name_of(kind),
        });
    }
    // The lock is one per binding; a folder given by hand may be another binding's.
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(BindError::Alive {
            path: path.to_owned(),
        }),
    }
}

fn remove_stale(path: &Path) -> Result<(), BindError> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(BindError::Io {
            path: path.to_owned(),
            source: error.into(),
        }),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out files by path")]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn folder(dir: &tempfile::TempDir) -> Folder {
        Folder::open(dir.path()).expect("private")
    }

    fn refusal(dir: &tempfile::TempDir) -> String {
        match bind(&folder(dir)) {
            Ok(_) => panic!("bound"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn sockets_are_for_us_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let _sockets = bind(&folder(&dir)).expect("bound");
        for name in [CONTROL, TOOLS] {
            let mode = fs::symlink_metadata(dir.path().join(name))
                .expect("stat")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_94_a_file_or_symlink_in_a_sockets_place_stays_and_refuses_the_start() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(TOOLS), "precious").expect("written");
        assert!(refusal(&dir).contains("tools.sock is a file"));
        assert_eq!(
            fs::read_to_string(dir.path().join(TOOLS)).expect("still there"),
            "precious"
        );
        assert!(!dir.path().join(CONTROL).exists(), "half bound");

        fs::remove_file(dir.path().join(TOOLS)).expect("removed");
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join(CONTROL)).expect("symlink");
        assert!(refusal(&dir).contains("control.sock is a symlink"));
        assert!(fs::read_link(dir.path().join(CONTROL)).is_ok());
    }

    #[test]
    fn a_95_a_dead_brokers_sockets_are_replaced_and_a_live_ones_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let alive = bind(&folder(&dir)).expect("bound");
        assert!(refusal(&dir).starts_with("another process answers on"));
        drop(alive);
        assert!(
            dir.path().join(CONTROL).exists(),
            "a socket outlives its listener"
        );
        bind(&folder(&dir)).expect("replaced");
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_an_error_that_says_so() {
        let long = Path::new("/").join("x".repeat(100));
        let error = check_length(&long).expect_err("too long").to_string();
        assert!(
            error.contains("has 114 bytes") && error.contains("--runtime-dir"),
            "{error}"
        );
    }
}

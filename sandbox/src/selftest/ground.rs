//! A piece of ground outside the fence: files of ours that may be lost, so that an attempt to remove or cut a file proves
//! something and costs nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::error::SandboxError;

/// Folder with a file and a folder in it, and an abstract socket that listens, made before the fence is entered.
#[derive(Debug)]
pub struct Ground {
    folder: PathBuf,
    socket_name: String,
    /// Held while attempts are made here: the broker and the connector of a binding may use the same ground.
    _ours: File,
    /// Held so that the name is taken; nobody accepts.
    _listener: UnixListener,
}

impl Ground {
    /// Lays `selftest/` in `outside`, a folder this user may write and the fence will not grant (the runtime folder serves).
    /// What an earlier start left there is removed first. Waits while another process holds the same ground; drop the value
    /// once the self-test is done.
    ///
    /// # Errors
    /// [`SandboxError::Step`] when it cannot be made.
    pub fn lay(outside: &Path) -> Result<Ground, SandboxError> {
        let failed = |cause| SandboxError::Step {
            step: "lay the ground of the self-test",
            cause,
        };
        let ours = File::create(outside.join("selftest.lock")).map_err(failed)?;
        // SAFETY: a live descriptor and a number.
        if unsafe { libc::flock(ours.as_raw_fd(), libc::LOCK_EX) } != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        let folder = outside.join("selftest");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(folder.join("folder")).map_err(failed)?;
        fs::write(
            folder.join("file"),
            "a self-test tries to remove, cut and move this file from inside a fence\n",
        )
        .map_err(failed)?;
        let socket_name = format!("mosaic-selftest-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&socket_name).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        Ok(Ground {
            folder,
            socket_name,
            _ours: ours,
            _listener: listener,
        })
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("file")
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.join("folder")
    }

    /// A name under which nothing is.
    pub(super) fn fresh(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name} from inside"))
    }

    /// The abstract socket that listens.
    pub(super) fn socket(&self) -> AbstractSocket {
        AbstractSocket {
            name: self.socket_name.clone(),
        }
    }
}

/// Name of an abstract socket somebody outside listens on.
pub(super) struct AbstractSocket {
    name: String,
}

impl AbstractSocket {
    pub(super) fn connect(&self) -> io::Result<()> {
        let address = SocketAddr::from_abstract_name(&self.name)?;
        UnixStream::connect_addr(&address).map(drop)
    }
}

//! Tells a supervisor that waits for it (`Type=notify`) when the broker serves and when it ends. The socket is connected
//! before the process is confined, because afterwards it could not be.

use std::{
    ffi::OsStr,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

use super::{Code, Stop};

/// A supervisor that may be listening.
#[derive(Debug)]
pub(crate) struct Notify(Option<UnixDatagram>);

impl Notify {
    /// Connects to `socket` (a path, or `@` and an abstract name). Without one, nobody is told.
    pub(crate) fn connect(socket: Option<&OsStr>) -> Result<Notify, Stop> {
        let Some(socket) = socket else {
            return Ok(Notify(None));
        };
        let connected = (|| {
            let address = match socket.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
                _ => SocketAddr::from_pathname(socket)?,
            };
            let datagrams = UnixDatagram::unbound()?;
            datagrams.connect_addr(&address)?;
            datagrams.set_nonblocking(true)?;
            Ok(Notify(Some(datagrams)))
        })();
        connected.map_err(|error: std::io::Error| {
            Stop::new(
                Code::Failed,
                format!("the supervisor's NOTIFY_SOCKET cannot be reached: {error}."),
            )
        })
    }

    /// The broker serves.
    pub(crate) fn ready(&self) {
        self.tell("READY=1\n");
    }

    /// The broker is about to end.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\n");
    }

    fn tell(&self, what: &str) {
        if let Some(Err(error)) = self.0.as_ref().map(|socket| socket.send(what.as_bytes())) {
            tracing::warn!(%error, "the supervisor was not told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_hears_ready_and_stopping() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("notify");
        let supervisor = UnixDatagram::bind(&path).expect("bound");
        let notify = Notify::connect(Some(path.as_os_str())).expect("connected");
        notify.ready();
        notify.stopping();
        let mut heard = [0; 32];
        for expected in ["READY=1\n", "STOPPING=1\n"] {
            let length = supervisor.recv(&mut heard).expect("told");
            assert_eq!(
                std::str::from_utf8(&heard[..length]).expect("text"),
                expected
            );
        }
    }
}

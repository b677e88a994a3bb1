//! Tells a supervisor that waits for it (`Type=notify`) how the connector stands: ready, at what, ending, alive. The socket is
//! connected before the process is confined, because afterwards it could not be. It decides nothing but how often to speak.

use std::{
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

/// A supervisor that may be listening.
#[derive(Debug)]
pub(super) struct Supervisor {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
    /// The last state told, so that it is told once.
    status: String,
    ready: bool,
    stopping: bool,
}

impl Supervisor {
    /// Connects to `socket` (a path, or `@` and an abstract name). Without one, nobody is told. `watchdog` is how long the
    /// supervisor waits for a sign of life.
    ///
    /// # Errors
    /// When there is a name and nothing listens there.
    pub(super) fn connect(socket: Option<&OsStr>, watchdog: Option<Duration>) -> io::Result<Self> {
        let socket = socket.map(connect).transpose()?;
        Ok(Self {
            watchdog: watchdog.filter(|_| socket.is_some()),
            socket,
            status: String::new(),
            ready: false,
            stopping: false,
        })
    }

    /// How often a sign of life is due: three within the supervisor's time, so that one may fail.
    pub(super) fn sign_of_life_every(&self) -> Option<Duration> {
        self.watchdog.map(|time| time / 3)
    }

    /// Everything that is needed is up. Said once; later calls change nothing.
    pub(super) fn ready(&mut self) {
        if !std::mem::replace(&mut self.ready, true) {
            self.tell("READY=1\n");
        }
    }

    /// The binding is being read again; [`Self::reloaded`] follows.
    pub(super) fn reloading(&mut self) {
        self.tell("RELOADING=1\n");
    }

    /// The reload is over, whatever came of it.
    pub(super) fn reloaded(&mut self) {
        // A supervisor that was never told of readiness is still waiting for the start.
        if self.ready {
            self.tell("READY=1\n");
        }
    }

    /// What is being done, in one line.
    pub(super) fn status(&mut self, line: String) {
        if line != self.status {
            self.tell(&format!("STATUS={line}\n"));
            self.status = line;
        }
    }

    /// The process ends when the turn in hand is done. Said once.
    pub(super) fn stopping(&mut self) {
        if !std::mem::replace(&mut self.stopping, true) {
            self.tell("STOPPING=1\n");
        }
    }

    /// A sign of life.
    pub(super) fn alive(&mut self) {
        self.tell("WATCHDOG=1\n");
    }

    fn tell(&self, what: &str) {
        if let Some(Err(error)) = self
            .socket
            .as_ref()
            .map(|socket| socket.send(what.as_bytes()))
        {
            tracing::warn!(%error, "the supervisor was not told");
        }
    }
}

fn connect(socket: &OsStr) -> io::Result<UnixDatagram> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let datagrams = UnixDatagram::unbound()?;
    datagrams.connect_addr(&address)?;
    // A supervisor that reads nothing must not hold the connector up.
    datagrams.set_nonblocking(true)?;
    Ok(datagrams)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_hears_each_state_once_and_every_sign_of_life() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let listening = UnixDatagram::bind(&path).unwrap();
        let minute = Duration::from_secs(60);
        let mut supervisor = Supervisor::connect(Some(path.as_os_str()), Some(minute)).unwrap();

        supervisor.status("a".into());
        supervisor.status("a".into());
        supervisor.ready();
        supervisor.ready();
        supervisor.alive();
        supervisor.alive();
        supervisor.stopping();

        let mut heard = [0; 32];
        for expected in [
            "STATUS=a\n",
            "READY=1\n",
            "WATCHDOG=1\n",
            "WATCHDOG=1\n",
            "STOPPING=1\n",
        ] {
            let length = listening.recv(&mut heard).unwrap();
            assert_eq!(std::str::from_utf8(&heard[..length]).unwrap(), expected);
        }
        assert_eq!(
            supervisor.sign_of_life_every(),
            Some(Duration::from_secs(20))
        );
    }

    #[test]
    fn without_a_supervisor_nothing_is_due() {
        let supervisor = Supervisor::connect(None, Some(Duration::from_secs(60))).unwrap();

        assert_eq!(supervisor.sign_of_life_every(), None);
    }

    #[test]
    fn a_supervisor_that_is_named_and_does_not_listen_refuses_the_start() {
        let folder = tempfile::tempdir().unwrap();

        let connected = Supervisor::connect(Some(folder.path().join("none").as_os_str()), None);

        assert!(connected.is_err());
    }
}

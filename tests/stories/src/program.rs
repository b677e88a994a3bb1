//! The programs under test as processes: found beside the test, started with a clean environment, ended with real signals.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    net::UnixDatagram,
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

/// Where the built programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The folder of this build: the one that holds the running test or demo.
    ///
    /// # Panics
    /// When the programs were not built there; `cargo build --workspace --bins` does that.
    #[must_use]
    pub fn of_this_build() -> Self {
        let own = std::env::current_exe().expect("a running program has a path");
        let folder = own
            .ancestors()
            .find(|folder| {
                folder.join("mosaic-discord").is_file() && folder.join("mosaic-broker").is_file()
            })
            .expect("mosaic-discord and mosaic-broker are built: cargo build --workspace --bins")
            .to_owned();
        Self { folder }
    }

    /// One of them.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A program that runs, and everything it has said.
#[derive(Debug)]
pub struct Program {
    child: Child,
    said: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    /// Starts `command` with nothing but the given environment, in a process group of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(command: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(command)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", command.display()));
        let said = Arc::new(Mutex::new(String::new()));
        let out = child.stdout.take().expect("stdout is piped");
        let err = child.stderr.take().expect("stderr is piped");
        let readers = vec![listen(out, &said), listen(err, &said)];
        Self {
            child,
            said,
            readers,
        }
    }

    /// Its process id, as long as it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it has written to stdout and stderr so far.
    #[must_use]
    pub fn said(&self) -> String {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What it says, also after it is gone.
    pub(crate) fn log(&self) -> Log {
        Log(Arc::clone(&self.said))
    }

    /// Sends it a signal; nothing when it has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // It may end between the look and the signal.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When that takes longer than `patience`, with what it said.
    pub async fn ended(&mut self, patience: Duration) -> ExitStatus {
        let status = timeout(patience, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| {
            panic!("it did not end in {patience:?}. It said:\n{}", self.said())
        });
        for reader in self.readers.drain(..) {
            let _ = timeout(Duration::from_secs(2), reader).await;
        }
        status.expect("a child can be waited for")
    }

    /// Asks it to end and waits.
    ///
    /// # Panics
    /// As [`Self::ended`].
    pub async fn stop(&mut self, patience: Duration) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.ended(patience).await
    }

    /// Kills it, as a power cut would.
    ///
    /// # Panics
    /// When it does not die.
    pub async fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let status = self.ended(Duration::from_secs(10)).await;
        assert!(
            status.signal().is_some() || status.code().is_some(),
            "it died"
        );
    }
}

fn listen(
    pipe: impl AsyncRead + Unpin + Send + 'static,
    said: &Arc<Mutex<String>>,
) -> JoinHandle<()> {
    let said = Arc::clone(said);
    tokio::spawn(async move {
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&line);
            said.push('\n');
        }
    })
}

/// What one program said.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<Mutex<String>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The socket a service tells that it is ready.
#[derive(Debug)]
pub struct Notify {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Notify {
    /// Listens at `path`.
    ///
    /// # Panics
    /// When no socket can be bound there.
    #[must_use]
    pub fn bind(path: PathBuf) -> Self {
        let _ = std::fs::remove_file(&path);
        Self {
            socket: UnixDatagram::bind(&path).expect("a socket can be bound in the house"),
            path,
        }
    }

    /// What goes into `NOTIFY_SOCKET`.
    ///
    /// # Panics
    /// When the path is no text.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.to_str().expect("the house has a plain path")
    }

    /// The next thing the service tells. Nothing when that takes too long.
    pub async fn hear(&self, patience: Duration) -> Option<String> {
        let mut buffer = [0; 1024];
        let length = timeout(patience, self.socket.recv(&mut buffer))
            .await
            .ok()?
            .ok()?;
        Some(
            String::from_utf8_lossy(&buffer[..length])
                .trim_end()
                .to_owned(),
        )
    }

    /// Waits for `READY=1`. False when that takes too long.
    pub async fn ready(&self, patience: Duration) -> bool {
        while let Some(told) = self.hear(patience).await {
            if told == "READY=1" {
                return true;
            }
        }
        false
    }
}

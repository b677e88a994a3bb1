//! Lays out a binding in a folder of its own, starts the real broker on it and speaks to it. Knows no test.

use std::{
    fs,
    io::Read,
    os::unix::{
        fs::{DirBuilderExt, PermissionsExt},
        net::UnixDatagram,
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use mosaic_proto::v1::{
    self, CloseTurnRequest, HelloRequest, ListRequest, OpenTurnRequest, ToolReply,
    control_client::ControlClient, tool_reply, tools_client::ToolsClient,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

/// Longest any single wait of a test may take before it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The program as built.
const BROKER: &str = env!("CARGO_BIN_EXE_mosaic-broker");

/// A data root with one binding named `desk`: root `library` to read, root `vault` to write.
pub(crate) struct Binding {
    dir: TempDir,
    tools: Value,
}

impl Binding {
    pub(crate) fn new() -> Binding {
        // A root may not lie in a hidden folder, which is what a nameless one would be.
        let dir = tempfile::Builder::new()
            .prefix("broker-")
            .tempdir()
            .expect("a folder for the test");
        let folder = |name: &str| {
            let path = dir.path().join(name);
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)
                .expect("mkdir");
            path
        };
        let (library, vault) = (folder("library"), folder("vault"));
        folder("data/discord");
        folder("run");
        let tools = json!({
            "roots": [
                { "name": "library", "path": library },
                { "name": "vault", "path": vault, "write": true },
            ],
        });
        let binding = Binding { dir, tools };
        binding.save();
        binding
    }

    /// Sets one key of `tools`.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Binding {
        self.tools[key] = value;
        self.save();
        self
    }

    /// Takes the whole `tools` key away.
    pub(crate) fn without_tools(mut self) -> Binding {
        self.tools = Value::Null;
        self.save();
        self
    }

    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Binding {
        fs::write(self.path(path), text).expect("written");
        self
    }

    fn save(&self) {
        let file = match &self.tools {
            Value::Null => json!({ "bindingVersion": 1 }),
            tools => json!({ "bindingVersion": 1, "tools": tools }),
        };
        let path = self.config();
        fs::write(&path, file.to_string()).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("chmod");
    }

    /// `library/a.md`, `vault/b.md`, `run`, `data/…`
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("data/discord/desk.json")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.path("data/discord/desk/broker/ledger.jsonl")
    }

    /// The binary with nothing around it, and `words` and this binding as arguments.
    pub(crate) fn command(&self, words: &[&str], more: &[&str]) -> Command {
        self.command_of(BROKER.as_ref(), words, more)
    }

    /// The same, of a copy of the binary in the binding's folder: another user may be kept out of the tree this was built in.
    pub(crate) fn command_of_copy(&self, words: &[&str], more: &[&str]) -> Command {
        let copy = self.path("mosaic-broker");
        // Not by this process: a descriptor another test's child inherits for a moment would make the copy busy to execute.
        let copied = Command::new("cp").arg(BROKER).arg(&copy).status();
        assert!(copied.expect("cp runs").success());
        self.command_of(&copy, words, more)
    }

    fn command_of(&self, program: &Path, words: &[&str], more: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir("/").stdin(Stdio::null());
        command
            .args(words)
            .arg("desk")
            .arg("--data-root")
            .arg(self.path("data"))
            .args(more);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str], more: &[&str]) -> Ended {
        let output = self.command(words, more).output().expect("the binary runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs the broker and waits until it says that it serves.
    pub(crate) fn start(&self) -> Broker<'_> {
        let run = self.path("run");
        Broker::start(
            self,
            self.command(
                &["run"],
                &["--runtime-dir", run.to_str().expect("a plain path")],
            ),
        )
    }

    /// Runs the broker where it will not start, and says how it ended.
    pub(crate) fn refused(&self) -> Ended {
        let run = self.path("run");
        self.run(
            &["run"],
            &["--runtime-dir", run.to_str().expect("a plain path")],
        )
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// How many lines of the ledger were printed: each begins with its number, and what does not fit goes on further in.
    pub(crate) fn entries(&self) -> usize {
        let begins = |line: &&str| line.find(|c: char| c != ' ').is_some_and(|at| at < 6);
        self.stdout.lines().filter(begins).count()
    }
}

/// A running broker. Killed when dropped.
pub(crate) struct Broker<'a> {
    pub(crate) binding: &'a Binding,
    child: Child,
    /// Reads the log as it comes, so that the broker never waits for a reader.
    log: Option<thread::JoinHandle<String>>,
}

impl<'a> Broker<'a> {
    pub(crate) fn start(binding: &'a Binding, mut command: Command) -> Broker<'a> {
        let notify = binding.path("notify");
        let _ = fs::remove_file(&notify);
        let supervisor = UnixDatagram::bind(&notify).expect("bound");
        fs::set_permissions(&notify, fs::Permissions::from_mode(0o666)).expect("chmod");
        command
            .env("NOTIFY_SOCKET", &notify)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stderr = child.stderr.take().expect("piped");
        let log = thread::spawn(move || {
            let mut log = String::new();
            stderr.read_to_string(&mut log).expect("text");
            log
        });
        let mut word = [0; 16];
        // A broker that ends instead never says a word; its reason is worth more than the time-out.
        supervisor
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("set");
        let started = std::time::Instant::now();
        loop {
            if supervisor.recv(&mut word).is_ok() {
                break;
            }
            if child.try_wait().expect("a child").is_some() || started.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("the broker did not start: {}", log.join().expect("read"));
            }
        }
        assert!(word.starts_with(b"READY=1"));
        Broker {
            binding,
            child,
            log: Some(log),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a pid"))
    }

    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.binding.path("run").join(name)
    }

    /// A connection to `control.sock`, which makes it the session.
    pub(crate) async fn control(&self) -> ControlClient<Channel> {
        let mut control = ControlClient::new(connect(&self.socket("control.sock")).await);
        control
            .hello(HelloRequest {
                client: "test 1".to_owned(),
            })
            .await
            .expect("hello");
        control
    }

    /// A connection to `tools.sock`, beside a control session.
    pub(crate) async fn tools(&self) -> ToolsClient<Channel> {
        let mut tools = ToolsClient::new(connect(&self.socket("tools.sock")).await);
        // A client that has not heard the broker's settings yet may open too many streams at once.
        tools.list(ListRequest {}).await.expect("listed");
        tools
    }

    /// A control session with an open turn, and an engine in it.
    pub(crate) async fn in_turn(
        &self,
        turn: &str,
    ) -> (ControlClient<Channel>, ToolsClient<Channel>) {
        let mut control = self.control().await;
        open(&mut control, turn).await;
        (control, self.tools().await)
    }

    /// One `Vm…:` line of the process, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("alive");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("a figure");
        line.trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number")
    }

    /// Open descriptors of the process.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid()))
            .expect("alive")
            .count()
    }

    /// SIGTERM, and its exit code and log.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        kill(self.pid(), Signal::SIGTERM).expect("signalled");
        let code = self.child.wait().expect("ended").code();
        let log = self.log.take().expect("read once").join().expect("read");
        (code, log)
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

impl Drop for Broker<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One lazy connection: made by the first call, and never made again behind the test's back within it.
pub(crate) async fn connect(socket: &Path) -> Channel {
    let address = format!("unix://{}", socket.display());
    Endpoint::from_shared(address)
        .expect("an address")
        .connect()
        .await
        .expect("connected")
}

pub(crate) async fn open(control: &mut ControlClient<Channel>, turn: &str) {
    let requester = v1::Requester {
        id: "7".to_owned(),
        name: "Operator".to_owned(),
        server_name: "op".to_owned(),
    };
    let request = OpenTurnRequest {
        turn_id: turn.to_owned(),
        requester: Some(requester),
        event: format!("event-{turn}"),
    };
    control.open_turn(request).await.expect("opened");
}

pub(crate) async fn close(control: &mut ControlClient<Channel>, turn: &str) -> Vec<v1::Call> {
    let request = CloseTurnRequest {
        turn_id: turn.to_owned(),
    };
    control
        .close_turn(request)
        .await
        .expect("closed")
        .into_inner()
        .calls
}

pub(crate) fn read(root: &str, path: &str) -> v1::ReadFileRequest {
    v1::ReadFileRequest {
        root: root.to_owned(),
        path: path.to_owned(),
        from_line: None,
        lines: None,
    }
}

pub(crate) fn write(path: &str, text: &str) -> v1::WriteFileRequest {
    v1::WriteFileRequest {
        root: "vault".to_owned(),
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// The text of a call that was done.
pub(crate) fn done(reply: tonic::Response<ToolReply>) -> String {
    match reply.into_inner().outcome {
        Some(tool_reply::Outcome::Done(done)) => done.text,
        other => panic!("not done: {other:?}"),
    }
}

/// The reason of a call that was refused.
pub(crate) fn reason(reply: tonic::Response<ToolReply>) -> String {
    match reply.into_inner().outcome {
        Some(tool_reply::Outcome::Refusal(refusal)) => refusal.reason,
        other => panic!("not refused: {other:?}"),
    }
}

/// Starts `command` as a user without rights, with the binding made its own. For tests that run as root.
pub(crate) fn as_nobody(binding: &Binding, command: &mut Command) {
    const NOBODY: u32 = 65_534;
    let ids = (
        nix::unistd::Uid::from_raw(NOBODY),
        nix::unistd::Gid::from_raw(NOBODY),
    );
    let mut folders = vec![binding.path("")];
    while let Some(path) = folders.pop() {
        nix::unistd::chown(&path, Some(ids.0), Some(ids.1)).expect("chown");
        if path.is_dir() {
            folders.extend(
                fs::read_dir(&path)
                    .expect("listed")
                    .map(|entry| entry.expect("an entry").path()),
            );
        }
    }
    command.uid(NOBODY).gid(NOBODY);
}

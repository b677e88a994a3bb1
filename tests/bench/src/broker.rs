//! A real broker on the ground, and a client in place of the engine. Turns are opened and closed here, outside what is
//! timed, since a binding allows a thousand calls in one.

use std::{
    fs,
    os::unix::{
        fs::{DirBuilderExt as _, PermissionsExt as _},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use mosaic_proto::v1::{
    CloseTurnRequest, HelloRequest, ListDirRequest, ListRequest, OpenTurnRequest, ReadFileRequest,
    SearchRequest, ToolReply, WriteFileRequest, control_client::ControlClient, tool_reply,
    tools_client::ToolsClient,
};
use serde_json::json;
use tonic::{
    Response, Status,
    transport::{Channel, Endpoint},
};

use crate::{ground::Ground, unmeasured::Unmeasured};

/// The most a binding may allow.
const CALLS_PER_TURN: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A running broker; killed when dropped.
pub(crate) struct Broker {
    child: Child,
    run: PathBuf,
}

impl Broker {
    /// Starts `program` on roots `docs` and `tree` to read and `vault` to write. `name` keeps two of them apart.
    pub(crate) fn start(ground: &Ground, program: &Path, name: &str) -> Result<Self, Unmeasured> {
        let data = ground.path(&format!("{name}/data"));
        let run = ground.path(&format!("{name}/run"));
        for folder in [&data.join("discord"), &run] {
            let made = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder);
            made.map_err(Unmeasured::at(folder.display()))?;
        }
        let mut roots = vec![
            json!({ "name": "docs", "path": ground.path("docs") }),
            json!({ "name": "vault", "path": ground.path("vault"), "write": true }),
        ];
        if ground.path("tree").is_dir() {
            roots.push(json!({ "name": "tree", "path": ground.path("tree") }));
        }
        let tools = json!({ "roots": roots, "maxCallsPerTurn": CALLS_PER_TURN });
        let binding = data.join("discord/bench.json");
        fs::write(
            &binding,
            json!({ "bindingVersion": 1, "tools": tools }).to_string(),
        )
        .and_then(|()| fs::set_permissions(&binding, fs::Permissions::from_mode(0o600)))
        .map_err(Unmeasured::at("the binding"))?;

        let notify = ground.path(&format!("{name}/notify"));
        let supervisor = UnixDatagram::bind(&notify).map_err(Unmeasured::at("a notify socket"))?;
        let child = Command::new(program)
            .env_clear()
            .env("NOTIFY_SOCKET", &notify)
            .args(["run", "bench", "--data-root"])
            .arg(&data)
            .arg("--runtime-dir")
            .arg(&run)
            .stdin(Stdio::null())
            // As a supervisor would keep it: a file, so that no reader competes for a core.
            .stderr(
                fs::File::create(ground.path(&format!("{name}/log")))
                    .map_err(Unmeasured::at("a log"))?,
            )
            .spawn()
            .map_err(Unmeasured::at(program.display()))?;
        let mut broker = Self { child, run };
        if broker.is_ready(&supervisor)? {
            return Ok(broker);
        }
        let log = fs::read_to_string(ground.path(&format!("{name}/log"))).unwrap_or_default();
        Err(Unmeasured::new(format!("the broker did not start: {log}")))
    }

    fn is_ready(&mut self, supervisor: &UnixDatagram) -> Result<bool, Unmeasured> {
        let step = Duration::from_millis(50);
        supervisor
            .set_read_timeout(Some(step))
            .map_err(Unmeasured::at("a notify socket"))?;
        let give_up = Instant::now() + PATIENCE;
        let mut word = [0; 64];
        while Instant::now() < give_up && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if supervisor.recv(&mut word).is_ok() {
                return Ok(word.starts_with(b"READY=1"));
            }
        }
        Ok(false)
    }

    /// Its socket for engines.
    pub(crate) fn tools_socket(&self) -> PathBuf {
        self.run.join("tools.sock")
    }

    /// The control session. Engines are taken only while it lives.
    pub(crate) async fn session(&self) -> Result<Session, Unmeasured> {
        let mut control = ControlClient::new(connect(&self.run.join("control.sock")).await?);
        let hello = HelloRequest {
            client: "bench 1".to_owned(),
        };
        control
            .hello(hello)
            .await
            .map_err(Unmeasured::at("Hello"))?;
        let mut session = Session {
            control,
            turn: 0,
            left: 0,
        };
        session.next_turn().await?;
        Ok(session)
    }

    /// A client in the engine's place.
    pub(crate) async fn caller(&self) -> Result<Caller, Unmeasured> {
        let session = self.session().await?;
        let mut tools = ToolsClient::new(connect(&self.tools_socket()).await?);
        tools
            .list(ListRequest {})
            .await
            .map_err(Unmeasured::at("List"))?;
        Ok(Caller { session, tools })
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One lazy connection over a Unix socket.
pub(crate) async fn connect(socket: &Path) -> Result<Channel, Unmeasured> {
    let address = format!("unix://{}", socket.display());
    let endpoint = Endpoint::from_shared(address).map_err(Unmeasured::at("a socket's address"))?;
    endpoint
        .connect()
        .await
        .map_err(Unmeasured::at(socket.display()))
}

/// The connector's place: turns.
pub(crate) struct Session {
    control: ControlClient<Channel>,
    turn: u64,
    left: usize,
}

impl Session {
    /// Makes sure that the open turn has room for so many calls.
    pub(crate) async fn make_room(&mut self, calls: usize) -> Result<(), Unmeasured> {
        if self.left < calls {
            self.close_turn().await?;
            self.next_turn().await?;
        }
        self.left -= calls;
        Ok(())
    }

    /// Closes the open turn: its ledger lines are on disk afterwards.
    pub(crate) async fn close_turn(&mut self) -> Result<(), Unmeasured> {
        let turn = CloseTurnRequest {
            turn_id: self.turn.to_string(),
        };
        self.control
            .close_turn(turn)
            .await
            .map_err(Unmeasured::at("CloseTurn"))?;
        Ok(())
    }

    /// Opens the next turn.
    pub(crate) async fn next_turn(&mut self) -> Result<(), Unmeasured> {
        self.turn += 1;
        let id = self.turn.to_string();
        let turn = OpenTurnRequest {
            turn_id: id.clone(),
            requester: None,
            event: id,
        };
        self.control
            .open_turn(turn)
            .await
            .map_err(Unmeasured::at("OpenTurn"))?;
        self.left = CALLS_PER_TURN;
        Ok(())
    }
}

/// The engine's place, with a session of its own.
pub(crate) struct Caller {
    pub(crate) session: Session,
    tools: ToolsClient<Channel>,
}

impl Caller {
    pub(crate) async fn read(&mut self, path: &str) -> Result<String, Unmeasured> {
        let request = ReadFileRequest {
            root: "docs".into(),
            path: path.into(),
            from_line: None,
            lines: None,
        };
        done(self.tools.read_file(request).await)
    }

    pub(crate) async fn list(&mut self, path: &str) -> Result<String, Unmeasured> {
        done(
            self.tools
                .list_dir(ListDirRequest {
                    root: "docs".into(),
                    path: Some(path.into()),
                })
                .await,
        )
    }

    pub(crate) async fn write(&mut self, path: &str, text: String) -> Result<String, Unmeasured> {
        done(
            self.tools
                .write_file(WriteFileRequest {
                    root: "vault".into(),
                    path: path.into(),
                    text,
                })
                .await,
        )
    }

    pub(crate) async fn search(&mut self, query: &str) -> Result<String, Unmeasured> {
        let request = SearchRequest {
            root: "tree".into(),
            query: query.into(),
            ..SearchRequest::default()
        };
        done(self.tools.search(request).await)
    }
}

/// The text of a call that was done; a refusal is no measurement.
pub(crate) fn done(reply: Result<Response<ToolReply>, Status>) -> Result<String, Unmeasured> {
    match reply
        .map_err(Unmeasured::at("a call"))?
        .into_inner()
        .outcome
    {
        Some(tool_reply::Outcome::Done(done)) => Ok(done.text),
        Some(tool_reply::Outcome::Refusal(refusal)) => {
            Err(Unmeasured::new(format!("refused: {}", refusal.text)))
        }
        None => Err(Unmeasured::new("a reply without an outcome")),
    }
}

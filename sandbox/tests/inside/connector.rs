//! The connector inside its fence.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixListener;

use mosaic_sandbox::profiles::{self, ConnectorReach, EngineReach};
use mosaic_sandbox::selftest::{Ground, Probe};
use mosaic_sandbox::{Profile, RequiredAbi, SandboxError, launch_engine};

use super::stage::{Stage, in_child};
use super::{enter, errno, say_broken};

const FOLDERS: &[&str] = &[
    "data/turns",
    "data/pi",
    "data/broker",
    "data/run.lock",
    "sessions",
    "install",
    "run",
    "vault",
    "secrets",
    "outside",
    "node",
];

/// A shell stands in the place of node: it needs no more to run, and says what it was refused.
fn stage() -> Stage {
    let stage = Stage::with_folders(FOLDERS)
        .and_file("data/inbox.jsonl", "{}\n")
        .and_file("data/broker/ledger.jsonl", "{}\n")
        .and_file("vault/b.md", "a root's file")
        .and_file("secrets/git-token", "s3cret")
        .and_file("install/cli.js", "pi");
    fs::copy("/bin/sh", stage.path("node/node")).unwrap();
    stage
}

fn reach(stage: &Stage) -> ConnectorReach {
    ConnectorReach {
        data: stage.path("data"),
        sessions: stage.path("sessions"),
        install: vec![stage.path("install")],
        node: stage.path("node/node"),
        confine: env!("CARGO_BIN_EXE_confine").into(),
        runtime_dir: stage.path("run"),
        api_port: 443,
        model_ports: vec![8080],
    }
}

fn profile(stage: &Stage) -> Profile {
    profiles::connector(&reach(stage))
}

#[test]
fn the_self_test_holds_with_the_callers_own_attempts() {
    let stage = stage();
    let said = in_child(|parent| {
        let ground = Ground::lay(&stage.path("outside")).unwrap();
        let entered = enter(&profile(&stage));
        let extra = [
            Probe::open_denied(&stage.path("vault/b.md")),
            Probe::open_denied(&stage.path("secrets/git-token")),
            Probe::open_denied(&stage.path("data/broker")),
            Probe::open_denied(&stage.path("data/broker/ledger.jsonl")),
            Probe::write_denied(&stage.path("data/broker/ledger.jsonl")),
            Probe::create_denied(&stage.path("data/broker")),
            Probe::create_denied(&stage.path("data")),
            Probe::create_denied(&stage.path("install")),
            Probe::create_denied(&stage.path("run")),
            Probe::exec_denied("/bin/true".as_ref()),
            Probe::connect_denied(22),
        ];
        say_broken(parent, &entered, &ground, &extra);
    });
    assert_eq!(said, ["many attempts"]);
}

#[test]
fn journals_records_and_the_ownership_folder_work_inside() {
    let stage = stage();
    in_child(|_| {
        enter(&profile(&stage));
        let mut inbox = OpenOptions::new()
            .append(true)
            .open(stage.path("data/inbox.jsonl"))
            .unwrap();
        inbox.write_all(b"{}\n").unwrap();
        inbox.sync_data().unwrap();
        fs::write(stage.path("data/turns/.temp"), "{}").unwrap();
        fs::hard_link(
            stage.path("data/turns/.temp"),
            stage.path("data/turns/1.json"),
        )
        .unwrap();
        fs::rename(
            stage.path("data/turns/.temp"),
            stage.path("data/turns/2.json"),
        )
        .unwrap();
        fs::create_dir_all(stage.path("sessions/a/b")).unwrap();
        fs::remove_dir_all(stage.path("sessions/a")).unwrap();
        fs::remove_dir(stage.path("data/run.lock")).unwrap();
    });
    assert_eq!(fs::read_dir(stage.path("data/turns")).unwrap().count(), 2);
}

#[test]
fn the_brokers_ledger_can_neither_be_removed_nor_moved_nor_replaced() {
    let stage = stage();
    in_child(|_| {
        enter(&profile(&stage));
        let ledger = stage.path("data/broker/ledger.jsonl");
        assert_eq!(errno(fs::remove_file(&ledger)), Some(libc::EACCES));
        assert_eq!(
            errno(fs::rename(&ledger, stage.path("data/broker/old"))),
            Some(libc::EACCES)
        );
        assert_eq!(
            errno(fs::rename(
                stage.path("data/broker"),
                stage.path("data/gone")
            )),
            Some(libc::EACCES)
        );
        assert_eq!(
            errno(fs::remove_dir_all(stage.path("data/broker"))),
            Some(libc::EACCES)
        );
    });
    assert_eq!(
        fs::read_to_string(stage.path("data/broker/ledger.jsonl")).unwrap(),
        "{}\n"
    );
}

#[test]
fn a_link_in_the_data_folder_keeps_the_fence_from_being_built() {
    let stage = stage();
    let link = stage.path("data/notes");
    std::os::unix::fs::symlink(stage.path("vault"), &link).unwrap();
    match profile(&stage).prepare(RequiredAbi::default()) {
        Err(SandboxError::Link {
            profile: "connector",
            path,
        }) => assert_eq!(path, link),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_control_socket_discords_port_and_a_resolvers_datagrams_are_reached_and_no_other_port() {
    let stage = stage();
    let _control = UnixListener::bind(stage.path("run/control.sock")).unwrap();
    let discord = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let (api, closed) = (discord.local_addr().unwrap(), other.local_addr().unwrap());
    in_child(|_| {
        enter(&profiles::connector(&ConnectorReach {
            api_port: api.port(),
            ..reach(&stage)
        }));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            tokio::net::UnixStream::connect(stage.path("run/control.sock"))
                .await
                .unwrap();
            tokio::net::TcpStream::connect(api).await.unwrap();
            assert_eq!(
                errno(tokio::net::TcpStream::connect(closed).await),
                Some(libc::EACCES)
            );
        });
        assert_eq!(errno(TcpStream::connect(closed)), Some(libc::EACCES));
        let names = ("localhost", api.port()).to_socket_addrs().unwrap();
        assert!(names.into_iter().any(|address| address == api));
        // Binding a datagram socket is what its library does first; the fence has no bind, so it must go without.
        assert_eq!(errno(UdpSocket::bind("127.0.0.1:0")), Some(libc::ENOSYS));
        // SAFETY: plain numbers; the descriptor is left to the end of the process.
        let datagrams =
            unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        assert!(datagrams >= 0);
    });
}

/// The whole chain as it runs: the connector's runtime, inside its fence, starts the launcher, which enters the engine's
/// fence inside it and becomes the engine's program.
#[test]
fn the_engine_starts_from_inside_with_its_connection_and_is_narrower() {
    let stage = stage();
    let tools = UnixListener::bind(stage.path("run/tools.sock")).unwrap();
    let engine = EngineReach {
        node: stage.path("node/node"),
        read: vec![stage.path("install")],
        write: vec![stage.path("sessions"), stage.path("data/pi")],
        model_ports: vec![8080],
        resolves_names: false,
    };
    let script = format!(
        "read word <&3; echo \"$word\"; read pi < {0}/install/cli.js; echo \"$pi\"; echo kept > {0}/data/pi/auth.json; \
         {{ read secret < {0}/data/inbox.jsonl; }} 2>/dev/null || echo no journal; exec /bin/true",
        stage.path("").display()
    );
    let line = launch_engine(
        env!("CARGO_BIN_EXE_confine").as_ref(),
        &engine,
        RequiredAbi::default(),
        Some(&stage.path("run/tools.sock")),
        &["-c".into(), script.into()],
    );
    let server =
        std::thread::spawn(move || tools.accept().unwrap().0.write_all(b"hello\n").unwrap());
    let said = in_child(|parent| {
        enter(&profile(&stage));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let output = runtime.block_on(async {
            let mut command = tokio::process::Command::new(&line[0]);
            command
                .args(&line[1..])
                .env_clear()
                .process_group(0)
                .stdin(std::process::Stdio::null());
            command.output().await.unwrap()
        });
        parent.say(&format!("{:?}", output.status.code()));
        parent.say(String::from_utf8(output.stdout).unwrap().trim_end());
        parent.say(String::from_utf8(output.stderr).unwrap().trim_end());
    });
    server.join().unwrap();
    let (refusal, rest) = said.split_last().unwrap();
    assert_eq!(
        rest,
        ["Some(126)", "hello", "pi", "no journal"],
        "{refusal}"
    );
    assert!(
        refusal.ends_with("/bin/true: Operation not permitted"),
        "{refusal}"
    );
    assert_eq!(
        fs::read_to_string(stage.path("data/pi/auth.json")).unwrap(),
        "kept\n"
    );
}

/// Killing the group of the engine is allowed although signals outside are not: a child's fence lies within ours.
#[test]
fn a_childs_group_can_be_killed_and_the_parent_cannot() {
    let stage = stage();
    let engine = EngineReach {
        node: stage.path("node/node"),
        read: vec![],
        write: vec![stage.path("sessions")],
        model_ports: vec![8080],
        resolves_names: false,
    };
    let confine = env!("CARGO_BIN_EXE_confine").as_ref();
    let arguments = ["-c".into(), "echo up; read forever".into()];
    let line = launch_engine(confine, &engine, RequiredAbi::default(), None, &arguments);
    in_child(|_| {
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        enter(&profile(&stage));
        let mut command = std::process::Command::new(&line[0]);
        command.args(&line[1..]).env_clear().process_group(0);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut up = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        // SAFETY: signals the group of our own child, then our parent with no signal at all.
        let (group, parent) = unsafe {
            (
                libc::kill(-child.id().cast_signed(), libc::SIGKILL),
                libc::kill(libc::getppid(), 0),
            )
        };
        assert_eq!((group, parent), (0, -1));
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    });
}

//! From inside the engine: an extension that tries everything it must not be able to do.

use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use mosaic_connector::engine::Install;
use serde_json::{Value, json};
use stand_ins::model::Answer;

use crate::{
    broker::Verb,
    house::{House, ask, private_file},
};

/// An installation whose extension is the real one with the probe in front.
fn installation(root: &Path) -> Install {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pi = root.join("connector/pi");
    let extension = root.join("connector/extension");
    fs::create_dir_all(&pi).unwrap();
    fs::create_dir_all(&extension).unwrap();
    symlink(tree.join("pi/node_modules"), pi.join("node_modules")).unwrap();
    symlink(
        tree.join("extension/node_modules"),
        extension.join("node_modules"),
    )
    .unwrap();
    for module in ["wire.mjs", "contract.mjs"] {
        fs::copy(tree.join("extension").join(module), extension.join(module)).unwrap();
    }
    fs::copy(tree.join("extension/tools.mjs"), extension.join("real.mjs")).unwrap();
    fs::copy(
        tree.join("tests/engine/probe/tools.mjs"),
        extension.join("tools.mjs"),
    )
    .unwrap();
    Install::find(Some(root), None, root).unwrap()
}

#[tokio::test]
async fn from_inside_the_engine_nothing_of_the_house_can_be_reached() {
    let mut house = House::new([Answer::text("Tried.")], Verb::Hang).await;
    house.spec.install = installation(&house.path("install"));
    for secret in [
        "root/notes.md",
        "secrets/bot.token",
        "data/broker/ledger.jsonl",
        "data/inbox.jsonl",
        "desk.json",
    ] {
        private_file(&house.path(secret), "secret");
    }
    let link = house.spec.folders.agent.join("link");
    symlink(house.path("root/notes.md"), &link).unwrap();
    let control = UnixListener::bind(house.path("control.sock")).unwrap();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let orders = json!({
        "read": [
            house.path("root/notes.md"), house.path("secrets/bot.token"), house.path("data/broker/ledger.jsonl"),
            house.path("data/inbox.jsonl"), house.path("desk.json"), "/etc/passwd", "/proc/self/environ",
        ],
        "list": [house.path("root"), house.path("data"), house.path(""), "/", "/proc", "/home"],
        "write": [
            house.path("root/new.md"), house.path("data/new"), house.spec.folders.work().join("AGENTS.md"),
            house.spec.folders.home().join(".profile"), house.path("install/connector/extension/tools.mjs"), "/tmp/new",
        ],
        "sockets": [house.path("control.sock"), house.broker.socket],
        "tcp": elsewhere.local_addr().unwrap().port(),
        "udp": datagrams.local_addr().unwrap().port(),
        "link": link,
        "parent": std::process::id(),
        "allowed": house.spec.folders.tmp().join("allowed"),
    });
    private_file(
        &house.spec.folders.agent.join("orders.json"),
        &orders.to_string(),
    );

    let mut engine = house.start().await;
    ask(&mut engine, "go").await;

    let report = fs::read(house.spec.folders.agent.join("report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let mut tried = 0;
    for (attempt, answer) in report.as_object().unwrap() {
        let expected_to_work = attempt.starts_with("allowed: ");
        assert_eq!(answer == "ok", expected_to_work, "{attempt}: {answer}");
        tried += 1;
    }
    assert_eq!(tried, 38, "{report:#}");
    control.set_nonblocking(true).unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    assert!(control.accept().is_err(), "control.sock was reached");
    assert!(elsewhere.accept().is_err(), "a forbidden port was reached");
    assert!(
        datagrams.recv(&mut [0; 64]).is_err(),
        "a datagram left the engine"
    );
}

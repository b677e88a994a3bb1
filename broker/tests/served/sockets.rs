//! Who may connect, and what happens to those who may not.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream, process::CommandExt},
};

use mosaic_proto::v1::{ListRequest, StatusRequest};
use tonic::Code;

use super::{
    frames::{self, drain, raw},
    harness::{Binding, PATIENCE, connect, done, open, read, reason},
};

#[tokio::test]
async fn a_second_control_connection_is_dropped_at_once_and_the_first_goes_on() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;

    let mut second = raw(&broker.socket("control.sock"));
    assert_eq!(drain(&mut second).expect("dropped"), b"");

    control
        .status(StatusRequest {})
        .await
        .expect("the first goes on");
}

#[tokio::test]
async fn an_engine_without_a_control_session_is_dropped_at_once() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut engine = raw(&broker.socket("tools.sock"));
    assert_eq!(drain(&mut engine).expect("dropped"), b"");
}

#[tokio::test]
async fn a_100_a_second_engine_is_dropped_and_the_first_goes_on() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (_control, mut tools) = broker.in_turn("t1").await;
    tools.list(ListRequest {}).await.expect("listed");

    let mut second = raw(&broker.socket("tools.sock"));
    second.write_all(frames::PREFACE).expect("greeted");
    assert_eq!(drain(&mut second).expect("dropped"), b"");

    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
}

#[tokio::test]
async fn a_100_an_engine_takes_over_once_its_predecessor_has_ended() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (_control, mut first) = broker.in_turn("t1").await;
    first.list(ListRequest {}).await.expect("listed");
    drop(first);
    let mut second = broker.tools().await;
    done(
        second
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_100_the_end_of_the_control_session_ends_its_turn_and_its_engine() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut control = broker.control().await;
    open(&mut control, "t1").await;
    let mut engine = frames::greeted(&broker.socket("tools.sock"));
    let mut settings = [0; 9];
    engine.read_exact(&mut settings).expect("greeted back");

    drop(control);

    drain(&mut engine).expect("dropped");
    let mut control = broker.control().await;
    let mut fresh = broker.tools().await;
    assert_eq!(
        reason(
            fresh
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
        ),
        "no_open_turn"
    );
    // A new session may use the id again, since the connector may have lost its memory of it.
    open(&mut control, "t1").await;
    let shown = binding.run(&["audit", "show"], &["t1", "--json"]).stdout;
    assert!(shown.contains(r#""ending":"session-lost""#), "{shown}");
}

#[tokio::test]
async fn a_96_messages_and_headers_over_the_limit_are_errors_of_one_call() {
    let binding = Binding::new()
        .with("maxFileBytes", serde_json::json!(4096))
        .file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (_control, mut tools) = broker.in_turn("t1").await;

    let huge = super::harness::write("b.md", &"x".repeat(1 << 20));
    assert_eq!(
        tools.write_file(huge).await.expect_err("refused").code(),
        Code::OutOfRange
    );
    let mut bomb = tonic::Request::new(read("library", "a.md"));
    let value = "x".repeat(64 * 1024).parse().expect("a value");
    bomb.metadata_mut().insert("bomb", value);
    tools.read_file(bomb).await.expect_err("refused");

    let mut again = broker_tools_after(&mut tools, &broker).await;
    done(
        again
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    assert!(!binding.path("vault/b.md").exists());
}

/// The same connection when it lives, else a new one.
async fn broker_tools_after(
    tools: &mut mosaic_proto::v1::tools_client::ToolsClient<tonic::transport::Channel>,
    broker: &super::harness::Broker<'_>,
) -> mosaic_proto::v1::tools_client::ToolsClient<tonic::transport::Channel> {
    match tools.list(ListRequest {}).await {
        Ok(_) => tools.clone(),
        Err(_) => broker.tools().await,
    }
}

#[tokio::test]
async fn a_96_an_unknown_method_is_unimplemented() {
    let binding = Binding::new();
    let broker = binding.start();
    let _control = broker.control().await;
    let mut client = tonic::client::Grpc::new(connect(&broker.socket("tools.sock")).await);
    client.ready().await.expect("connected");
    let codec = tonic_prost::ProstCodec::<ListRequest, ListRequest>::default();
    let path = "/mosaic.broker.v1.Tools/Fly".parse().expect("a path");
    let status = client
        .unary(tonic::Request::new(ListRequest {}), path, codec)
        .await
        .expect_err("refused");
    assert_eq!(status.code(), Code::Unimplemented);
}

#[tokio::test]
async fn a_96_what_is_no_http_2_is_closed_and_others_are_served() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut control = broker.control().await;
    open(&mut control, "t1").await;
    let noise: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let tls_hello = [&[0x16, 3, 1, 1, 0, 1, 0, 0, 0xfc, 3, 3][..], &[7; 245]].concat();
    for (what, bytes) in [
        (
            "HTTP/1.1",
            b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        ),
        ("random bytes", noise),
        ("a TLS hello", tls_hello),
        (
            "a preface and noise",
            [frames::PREFACE, &[0xff; 64]].concat(),
        ),
    ] {
        let mut stream = raw(&broker.socket("tools.sock"));
        let _ = stream.write_all(&bytes);
        drain(&mut stream).unwrap_or_else(|error| panic!("{what} was not closed: {error}"));
        control
            .status(StatusRequest {})
            .await
            .expect("served throughout");
    }
    let mut tools = broker.tools().await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_96_a_message_that_is_no_message_is_an_error_of_one_call() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut control = broker.control().await;
    open(&mut control, "t1").await;
    for body in [
        &b"\x00\x00\x00\x00\x03\x0a\xff\x01"[..],
        b"\x01\x00\x00\x00\x01\x00",
        b"\x00\xff\xff\xff\xff\x00",
    ] {
        let mut stream = frames::greeted(&broker.socket("tools.sock"));
        let path = frames::call("/mosaic.broker.v1.Tools/ReadFile");
        let call = [
            frames::frame(frames::HEADERS, frames::END_HEADERS, 1, &path),
            frames::frame(frames::DATA, 1, 1, body),
        ];
        stream.write_all(&call.concat()).expect("sent");
        let mut answer = [0; 1024];
        assert!(stream.read(&mut answer).expect("answered") > 0);
        control
            .status(StatusRequest {})
            .await
            .expect("served throughout");
    }
}

#[tokio::test]
async fn a_103_a_silent_control_client_gives_its_place_back() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut silent = raw(&broker.socket("control.sock"));
    silent.write_all(b"PRI").expect("sent");

    drain(&mut silent).expect("dropped within the patience of a read");

    let session = tokio::time::timeout(PATIENCE, broker.control());
    session.await.expect("its place is free");
}

#[test]
fn a_94_a_runtime_folder_others_can_write_refuses_the_start() {
    let binding = Binding::new();
    fs::set_permissions(binding.path("run"), fs::Permissions::from_mode(0o770)).expect("chmod");
    let ended = binding.refused();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("chmod go-w"), "{}", ended.stderr);
    assert_eq!(
        fs::read_dir(binding.path("run")).expect("listed").count(),
        0
    );
}

#[test]
fn a_94_a_symlink_in_the_runtime_folders_place_refuses_the_start() {
    let binding = Binding::new();
    fs::rename(binding.path("run"), binding.path("elsewhere")).expect("moved");
    std::os::unix::fs::symlink(binding.path("elsewhere"), binding.path("run")).expect("linked");
    let ended = binding.refused();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("is a symlink"), "{}", ended.stderr);
}

#[test]
fn a_94_a_file_in_a_sockets_place_refuses_the_start_and_stays() {
    let binding = Binding::new().file("run/control.sock", "precious");
    let ended = binding.refused();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(
        fs::read_to_string(binding.path("run/control.sock")).expect("still there"),
        "precious"
    );
}

#[tokio::test]
async fn a_95_a_second_broker_is_held_off_and_the_first_goes_on() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;

    let second = binding.refused();

    assert_eq!(second.code, Some(3), "{}", second.stderr);
    assert!(
        second
            .stderr
            .contains(&format!("held by pid {} since", broker.pid())),
        "{}",
        second.stderr
    );
    control
        .status(StatusRequest {})
        .await
        .expect("the first goes on");
}

#[tokio::test]
async fn a_95_the_sockets_of_a_killed_broker_are_replaced() {
    let binding = Binding::new();
    binding.start().kill();
    assert!(
        binding.path("run/control.sock").exists(),
        "a killed broker removes nothing"
    );
    let broker = binding.start();
    broker.control().await;
}

#[test]
fn a_runtime_folder_too_long_for_a_socket_is_said() {
    let binding = Binding::new();
    let long = binding.path(&"x".repeat(100));
    let ended = binding.run(&["run"], &["--runtime-dir", long.to_str().expect("plain")]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("a socket's path may have 107"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_93_another_user_reaches_no_folder_and_is_dropped_before_a_word_where_he_does() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let binding = Binding::new();
    let broker = binding.start();
    let visitor = binding.path("visitor");
    fs::copy(std::env::current_exe().expect("this test"), &visitor).expect("copied");
    let visit = |of: &str| {
        let mut command = std::process::Command::new(&visitor);
        command.args(["--exact", "--ignored", &format!("sockets::{of}")]);
        command
            .current_dir(binding.path(""))
            .uid(65_534)
            .gid(65_534);
        command.output().expect("runs")
    };
    fs::set_permissions(binding.path(""), fs::Permissions::from_mode(0o755)).expect("chmod");

    let outside = visit("visitor_finds_the_folder_closed");
    assert!(
        outside.status.success(),
        "{}",
        String::from_utf8_lossy(&outside.stdout)
    );

    fs::set_permissions(binding.path("run"), fs::Permissions::from_mode(0o755)).expect("chmod");
    for socket in ["control.sock", "tools.sock"] {
        fs::set_permissions(broker.socket(socket), fs::Permissions::from_mode(0o666))
            .expect("chmod");
    }
    let inside = visit("visitor_is_dropped_before_a_word");
    assert!(
        inside.status.success(),
        "{}",
        String::from_utf8_lossy(&inside.stdout)
    );
    assert!(
        broker
            .stop()
            .1
            .contains("a connection of another user was dropped")
    );
}

#[test]
#[ignore = "run by a_93, as another user in the folder above the sockets"]
fn visitor_finds_the_folder_closed() {
    let error = UnixStream::connect("run/control.sock").expect_err("refused");
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
#[ignore = "run by a_93, as another user in the folder above the sockets"]
fn visitor_is_dropped_before_a_word() {
    for socket in ["control.sock", "tools.sock"] {
        // The broker greets whoever it serves; this one hears nothing, whatever it says.
        let mut stream = raw(&std::path::Path::new("run").join(socket));
        let _ = stream.write_all(frames::PREFACE);
        assert_eq!(drain(&mut stream).expect("dropped"), b"");
    }
}

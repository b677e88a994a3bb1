//! Calls through both sockets: in a turn and out of one, past the limit, given up half way.

use std::{fs, os::unix::fs::PermissionsExt};

use mosaic_proto::v1::{
    self, AbortTurnRequest, CloseTurnRequest, DescribeRequest, HelloRequest, ListRequest,
    OpenTurnRequest, StatusRequest, WatchCallsRequest, call_event, tools_client::ToolsClient,
};
use serde_json::json;
use tokio::task::JoinSet;
use tonic::Code;

use super::harness::{Binding, close, done, open, read, reason, write};

#[tokio::test]
async fn the_connector_hears_what_the_binding_permits() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;

    let hello = control
        .hello(HelloRequest {
            client: "test 1".to_owned(),
        })
        .await
        .expect("hello")
        .into_inner();

    assert_eq!(
        hello.tools,
        ["list_dir", "read_file", "search", "write_file", "edit_file"]
    );
    assert!(hello.prompt.contains("vault"), "{}", hello.prompt);
    let confinement = hello.confinement.expect("said");
    assert_eq!(
        (confinement.required_abi, confinement.denied),
        (6, confinement.attempts)
    );
    assert!(confinement.attempts > 10, "{confinement:?}");
    let listed = broker
        .tools()
        .await
        .list(ListRequest {})
        .await
        .expect("listed")
        .into_inner();
    let names: Vec<_> = listed.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        (names, listed.policy_digest),
        (hello.tools, hello.policy_digest)
    );
}

#[tokio::test]
async fn a_binding_without_tools_serves_an_empty_list() {
    let binding = Binding::new().without_tools();
    let broker = binding.start();
    let mut control = broker.control().await;
    let hello = control
        .hello(HelloRequest {
            client: String::new(),
        })
        .await
        .expect("hello")
        .into_inner();
    assert_eq!((hello.tools, hello.prompt.as_str()), (vec![], ""));
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(hello.tools_digest, nothing);
}

#[tokio::test]
async fn describe_returns_the_contract_itself() {
    let binding = Binding::new();
    let broker = binding.start();
    let _control = broker.control().await;
    let described = broker
        .tools()
        .await
        .describe(DescribeRequest {})
        .await
        .expect("described")
        .into_inner();
    assert_eq!(described.file_descriptor_set, mosaic_proto::DESCRIPTORS);
}

#[tokio::test]
async fn a_turn_reads_and_writes_and_its_calls_are_returned_in_order() {
    let binding = Binding::new()
        .file("library/a.md", "alpha\n")
        .file("vault/b.md", "beta\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;

    assert!(
        done(
            tools
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
        )
        .contains("alpha")
    );
    done(
        tools
            .write_file(write("b.md", "gamma\n"))
            .await
            .expect("answered"),
    );
    let outside = tools
        .read_file(read("library", "../data/discord/desk.json"))
        .await
        .expect("answered");
    assert_eq!(reason(outside), "path_dot_segment");
    let read_only = v1::WriteFileRequest {
        root: "library".to_owned(),
        ..write("a.md", "x")
    };
    assert_eq!(
        reason(tools.write_file(read_only).await.expect("answered")),
        "root_read_only"
    );

    let calls = close(&mut control, "t1").await;
    let seen: Vec<_> = calls
        .iter()
        .map(|c| (c.index, c.tool.as_str(), c.outcome(), c.reason.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, "read_file", v1::Outcome::Done, ""),
            (2, "write_file", v1::Outcome::Done, ""),
            (3, "read_file", v1::Outcome::Refused, "path_dot_segment"),
            (4, "write_file", v1::Outcome::Refused, "root_read_only"),
        ]
    );
    assert_eq!(
        fs::read_to_string(binding.path("vault/b.md")).expect("there"),
        "gamma\n"
    );
    assert_eq!(
        fs::read_to_string(binding.path("library/a.md")).expect("there"),
        "alpha\n"
    );
}

#[tokio::test]
async fn a_98_a_call_without_a_turn_or_after_its_end_is_refused() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut control = broker.control().await;
    let mut tools = broker.tools().await;

    assert_eq!(
        reason(
            tools
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
        ),
        "no_open_turn"
    );
    open(&mut control, "t1").await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    let abort = AbortTurnRequest {
        turn_id: "t1".to_owned(),
    };
    control.abort_turn(abort).await.expect("aborted");
    assert_eq!(
        reason(
            tools
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
        ),
        "no_open_turn"
    );
    assert_eq!(close(&mut control, "t1").await.len(), 2);
    assert_eq!(
        reason(
            tools
                .write_file(write("new.md", "x"))
                .await
                .expect("answered")
        ),
        "no_open_turn"
    );
    assert!(!binding.path("vault/new.md").exists());
}

#[tokio::test]
async fn a_98_turns_out_of_order_answer_with_the_codes_of_the_contract() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;
    let named = |turn: &str| OpenTurnRequest {
        turn_id: turn.to_owned(),
        requester: None,
        event: "e".to_owned(),
    };
    let closing = |turn: &str| CloseTurnRequest {
        turn_id: turn.to_owned(),
    };

    assert_eq!(
        control
            .close_turn(closing("t1"))
            .await
            .expect_err("none open")
            .code(),
        Code::NotFound
    );
    control.open_turn(named("t1")).await.expect("opened");
    assert_eq!(
        control
            .open_turn(named("t2"))
            .await
            .expect_err("busy")
            .code(),
        Code::FailedPrecondition
    );
    assert_eq!(
        control
            .close_turn(closing("invented"))
            .await
            .expect_err("another")
            .code(),
        Code::NotFound
    );
    control.close_turn(closing("t1")).await.expect("closed");
    assert_eq!(
        control
            .open_turn(named("t1"))
            .await
            .expect_err("used")
            .code(),
        Code::AlreadyExists
    );
    for bad in ["", "a b", "a/b", &"x".repeat(65)] {
        assert_eq!(
            control
                .open_turn(named(bad))
                .await
                .expect_err("no id")
                .code(),
            Code::InvalidArgument,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_101_of_a_hundred_calls_at_once_the_limit_is_admitted_and_each_has_its_line() {
    let binding = Binding::new()
        .with("maxCallsPerTurn", json!(12))
        .file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (mut control, tools) = broker.in_turn("t1").await;

    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let mut tools = tools.clone();
        calls.spawn(async move {
            tools
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
                .into_inner()
        });
    }
    let replies = calls.join_all().await;

    let done = replies
        .iter()
        .filter(|r| matches!(r.outcome, Some(v1::tool_reply::Outcome::Done(_))))
        .count();
    assert_eq!((replies.len(), done), (100, 12));
    let calls = close(&mut control, "t1").await;
    let spent = calls
        .iter()
        .filter(|call| call.reason == "calls_spent")
        .count();
    assert_eq!((calls.len(), spent), (100, 88));
    let listed = binding.run(&["audit", "list"], &["--refused"]);
    assert_eq!(listed.entries(), 88);
}

#[tokio::test]
async fn a_22_calls_given_up_by_their_engine_are_done_whole_or_leave_nothing() {
    let binding = Binding::new().with("maxCallsPerTurn", json!(64));
    let broker = binding.start();
    let (mut control, tools) = broker.in_turn("t1").await;
    let mut watch = control
        .watch_calls(WatchCallsRequest {})
        .await
        .expect("watching")
        .into_inner();

    let mut calls = JoinSet::new();
    for number in 0..16 {
        let mut tools = tools.clone();
        calls.spawn(async move {
            let _ = tools
                .write_file(write(&format!("{number:02}.md"), &"x\n".repeat(50_000)))
                .await;
        });
    }
    let first = watch.message().await.expect("told").expect("an event");
    assert!(matches!(first.event, Some(call_event::Event::Began(_))));
    calls.shutdown().await;
    drop(tools);
    let calls = close(&mut control, "t1").await;

    let written: Vec<_> = fs::read_dir(binding.path("vault"))
        .expect("listed")
        .map(|e| e.expect("an entry"))
        .collect();
    let done = calls
        .iter()
        .filter(|call| call.outcome() == v1::Outcome::Done)
        .count();
    assert_eq!(written.len(), done, "a call that was not done left a file");
    assert!(
        written
            .iter()
            .all(|entry| entry.metadata().expect("stat").len() == 100_000)
    );
    // The turn was closed meanwhile, so a call that had not begun may have met either end.
    let mut others = calls
        .iter()
        .filter(|call| call.outcome() != v1::Outcome::Done);
    let given_up =
        |call: &v1::Call| call.reason == "cancelled" && call.outcome() == v1::Outcome::Cancelled;
    assert!(
        others.all(|call| given_up(call) || call.reason == "no_open_turn"),
        "{calls:?}"
    );
}

#[tokio::test]
async fn a_watcher_hears_each_call_begin_and_end() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;
    let mut watch = control
        .watch_calls(WatchCallsRequest {})
        .await
        .expect("watching")
        .into_inner();

    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );

    let began = watch.message().await.expect("told").expect("an event");
    let ended = watch.message().await.expect("told").expect("an event");
    assert_eq!(
        (began.turn_id.as_str(), ended.turn_id.as_str()),
        ("t1", "t1")
    );
    let Some(call_event::Event::Began(began)) = began.event else {
        panic!("{began:?}")
    };
    let Some(call_event::Event::Ended(ended)) = ended.event else {
        panic!("{ended:?}")
    };
    assert_eq!((began.index, began.outcome()), (1, v1::Outcome::Running));
    assert_eq!((ended.index, ended.outcome()), (1, v1::Outcome::Done));
}

#[tokio::test]
async fn status_tells_the_turn_the_roots_and_the_head_of_the_ledger() {
    let binding = Binding::new();
    let broker = binding.start();
    let (mut control, _tools) = broker.in_turn("t1").await;

    let status = control
        .status(StatusRequest {})
        .await
        .expect("status")
        .into_inner();

    assert_eq!((status.turn_id.as_str(), status.kernel_denied), ("t1", 0));
    let roots: Vec<_> = status
        .roots
        .iter()
        .map(|r| (r.name.as_str(), r.writable, r.present))
        .collect();
    assert_eq!(roots, [("library", false, true), ("vault", true, true)]);
    close(&mut control, "t1").await;
    let status = control
        .status(StatusRequest {})
        .await
        .expect("status")
        .into_inner();
    let head = status.ledger.expect("said").head;
    let verified = binding.run(&["audit", "verify"], &["--head", &head]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    assert!(verified.stdout.contains(&head));
}

#[tokio::test]
async fn a_root_that_was_moved_away_is_refused_and_status_says_so() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;
    fs::rename(binding.path("library"), binding.path("moved")).expect("moved");
    fs::create_dir(binding.path("library")).expect("another in its place");

    assert_eq!(
        reason(
            tools
                .read_file(read("library", "a.md"))
                .await
                .expect("answered")
        ),
        "root_gone"
    );

    let status = control
        .status(StatusRequest {})
        .await
        .expect("status")
        .into_inner();
    assert_eq!(
        status
            .roots
            .iter()
            .map(|root| root.present)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn a_99_control_calls_on_the_engines_socket_do_not_exist() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;
    let channel = super::harness::connect(&broker.socket("tools.sock")).await;
    let mut pretender = v1::control_client::ControlClient::new(channel.clone());

    let turn = OpenTurnRequest {
        turn_id: "t1".to_owned(),
        requester: None,
        event: "e".to_owned(),
    };
    assert_eq!(
        pretender.open_turn(turn).await.expect_err("refused").code(),
        Code::Unimplemented
    );
    let hello = HelloRequest {
        client: "pretender".to_owned(),
    };
    assert_eq!(
        pretender.hello(hello).await.expect_err("refused").code(),
        Code::Unimplemented
    );
    assert_eq!(
        pretender
            .status(StatusRequest {})
            .await
            .expect_err("refused")
            .code(),
        Code::Unimplemented
    );

    let status = control
        .status(StatusRequest {})
        .await
        .expect("status")
        .into_inner();
    assert_eq!(
        status.turn_id, "",
        "a turn was opened from the engine's side"
    );
    ToolsClient::new(channel)
        .list(ListRequest {})
        .await
        .expect("its own service answers");
}

#[tokio::test]
async fn a_99_verbs_on_the_control_socket_do_not_exist() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut tools = ToolsClient::new(super::harness::connect(&broker.socket("control.sock")).await);
    assert_eq!(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect_err("refused")
            .code(),
        Code::Unimplemented
    );
}

#[tokio::test]
async fn what_the_kernel_denies_although_the_fences_passed_it_is_counted_and_on_record() {
    let binding = Binding::new().file("library/locked.md", "alpha\n");
    fs::set_permissions(
        binding.path("library/locked.md"),
        fs::Permissions::from_mode(0o000),
    )
    .expect("chmod");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;

    let denied = tools
        .read_file(read("library", "locked.md"))
        .await
        .expect("answered");

    assert_eq!(reason(denied), "not_permitted");
    let status = control
        .status(StatusRequest {})
        .await
        .expect("status")
        .into_inner();
    assert_eq!(status.kernel_denied, 1);
    let shown = binding.run(&["audit", "show"], &["t1", "--json"]).stdout;
    assert!(shown.contains(r#""kind":"kernel-denied""#), "{shown}");
    let verified = binding.run(&["audit", "verify"], &[]).stdout;
    assert!(
        verified.contains("the kernel denied what the fences of read_file had passed"),
        "{verified}"
    );
}

#[tokio::test]
async fn a_binding_without_a_record_service_binds_and_submits_no_approval() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut control = broker.control().await;

    let bound = control
        .bind_approval(v1::BindApprovalRequest::default())
        .await
        .expect("a reply");
    let submitted = control
        .submit_approval(v1::SubmitApprovalRequest::default())
        .await
        .expect("a reply");

    for reply in [bound, submitted] {
        assert_eq!(reason(reply), "records_not_offered");
    }
}

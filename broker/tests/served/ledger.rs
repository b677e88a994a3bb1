//! The ledger as a running broker writes it and an operator reads it, and what becomes of it in a crash or on a full disk.

use std::{fs, os::unix::process::CommandExt, process::Command};

use mosaic_proto::v1::{self, EditFileRequest};
use serde_json::Value;

use super::harness::{Binding, Broker, close, done, open, read, reason, write};

#[tokio::test]
async fn every_step_is_on_record_before_and_after_and_no_content_is() {
    let binding = Binding::new()
        .file("library/a.md", "secret content\n")
        .file("vault/b.md", "old words\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    let edit = EditFileRequest {
        root: "vault".to_owned(),
        path: "b.md".to_owned(),
        old: "old words".to_owned(),
        new: "new words".to_owned(),
    };
    done(tools.edit_file(edit).await.expect("answered"));
    reason(
        tools
            .read_file(read("library", ".env"))
            .await
            .expect("answered"),
    );
    close(&mut control, "t1").await;
    let (code, log) = broker.stop();

    assert_eq!(code, Some(0), "{log}");
    let ledger = fs::read_to_string(binding.ledger()).expect("a ledger");
    let lines: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| line["kind"].as_str().expect("a kind"))
        .collect();
    let expected = [
        "start",
        "turn-open",
        "intent",
        "done",
        "intent",
        "done",
        "refused",
        "turn-close",
        "stop",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(lines[1]["requester"]["name"], "Operator");
    assert_eq!(
        (&lines[6]["call"], &lines[6]["reason"]),
        (&3.into(), &"path_dot_segment".into())
    );
    for word in [
        "secret content",
        "old words",
        "new words",
        binding.path("").to_str().expect("plain"),
    ] {
        assert!(!ledger.contains(word), "{word} is in the ledger");
        assert!(
            !log.contains(word) || word.starts_with('/'),
            "{word} is in the log"
        );
    }
    let verified = binding.run(&["audit", "verify"], &[]);
    assert_eq!(
        (verified.code, verified.stdout.starts_with("9 lines, ")),
        (Some(0), true),
        "{}",
        verified.stderr
    );
    assert!(!verified.stdout.contains("note:"), "{}", verified.stdout);
}

#[tokio::test]
async fn audit_finds_and_names_a_flipped_byte_a_dropped_line_and_two_swapped_lines() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    close(&mut control, "t1").await;
    broker.stop();
    let sound = fs::read_to_string(binding.ledger()).expect("a ledger");
    let lines: Vec<_> = sound.lines().collect();

    let flipped = sound.replacen("a.md", "b.md", 1);
    let dropped = [&lines[..3], &lines[4..]].concat().join("\n") + "\n";
    let swapped = [&lines[..2], &[lines[3], lines[2]], &lines[4..]]
        .concat()
        .join("\n")
        + "\n";
    let cut = lines[..3].join("\n") + "\n";
    for (damaged, found) in [
        (flipped, "line 3 was altered"),
        (dropped, "line 4 is missing"),
        (swapped, "lines 3 and 4 stand in each other's place"),
        (cut, "line 4 is missing, and all up to line 6"),
    ] {
        fs::write(binding.ledger(), damaged).expect("written");
        for ended in [binding.run(&["audit", "verify"], &[]), binding.refused()] {
            assert_eq!(ended.code, Some(2), "{}", ended.stderr);
            assert!(ended.stderr.contains(found), "{found} in {}", ended.stderr);
        }
    }
    fs::write(binding.ledger(), sound).expect("written");
    assert_eq!(binding.run(&["audit", "verify"], &[]).code, Some(0));
}

#[tokio::test]
async fn audit_show_and_list_read_while_the_broker_runs() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (mut control, mut tools) = broker.in_turn("t1").await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    reason(
        tools
            .write_file(write(".env", "x"))
            .await
            .expect("answered"),
    );

    let shown = binding.run(&["audit", "show"], &["t1"]);
    assert_eq!(
        (shown.code, shown.entries()),
        (Some(0), 4),
        "{}",
        shown.stdout
    );
    let line = binding.run(&["audit", "show"], &["1", "--json"]).stdout;
    assert_eq!(
        serde_json::from_str::<Value>(&line).expect("json")["kind"],
        "start"
    );
    assert_eq!(binding.run(&["audit", "show"], &["t9"]).code, Some(1));
    let listed = |more: &[&str]| binding.run(&["audit", "list"], more).entries();
    assert_eq!(
        (
            listed(&[]),
            listed(&["--refused"]),
            listed(&["--tool", "read_file"])
        ),
        (2, 1, 1)
    );
    assert_eq!(
        (
            listed(&["--since", "1h"]),
            listed(&["--since", "2099-01-01"])
        ),
        (2, 0)
    );
    let refused = binding
        .run(&["audit", "list"], &["--refused", "--json"])
        .stdout;
    assert_eq!(
        serde_json::from_str::<Value>(&refused).expect("json")["reason"],
        "path_dot_segment"
    );
    assert_eq!(binding.run(&["audit", "verify"], &[]).code, Some(0));
    close(&mut control, "t1").await;
}

#[tokio::test]
async fn a_killed_broker_leaves_a_ledger_the_next_one_goes_on_with() {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let (_control, mut tools) = broker.in_turn("t1").await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    broker.kill();
    let whole = fs::read(binding.ledger()).expect("a ledger");
    // The end of the call, cut short.
    fs::write(binding.ledger(), &whole[..whole.len() - 10]).expect("written");

    binding.start().stop();

    let verified = binding.run(&["audit", "verify"], &[]).stdout;
    for note in [
        "bytes of a torn line were set aside",
        "a read_file was cut off",
        "without a stop line",
        "never closed",
    ] {
        assert!(verified.contains(note), "{note} in {verified}");
    }
    assert!(
        binding
            .path("data/discord/desk/broker/ledger.torn-4")
            .exists()
    );
}

#[tokio::test]
async fn on_a_full_disk_the_call_is_refused_before_the_act() {
    let binding = Binding::new();
    // The shell sets a limit on the size of every file and lets the broker see the error instead of the signal.
    let run = binding.path("run");
    let broker = binding.command(&["run"], &["--runtime-dir", run.to_str().expect("plain")]);
    let mut limited = Command::new("/bin/bash");
    limited
        .env_clear()
        .args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\""]);
    limited
        .arg(broker.get_program())
        .args(broker.get_args())
        .arg0("bash");
    let broker = Broker::start(&binding, limited);
    let (mut control, mut tools) = broker.in_turn("full").await;

    let mut refused = None;
    for number in 0..8 {
        let path = format!("{number}.md");
        match tools
            .write_file(write(&path, "x"))
            .await
            .expect("answered")
            .into_inner()
            .outcome
        {
            Some(v1::tool_reply::Outcome::Done(_)) => {
                assert!(binding.path("vault").join(&path).exists());
            }
            Some(v1::tool_reply::Outcome::Refusal(refusal)) => {
                assert!(
                    !binding.path("vault").join(&path).exists(),
                    "{} after the act",
                    refusal.reason
                );
                refused = Some(refusal.reason);
            }
            None => panic!("no outcome"),
        }
        if refused.is_some() {
            break;
        }
    }

    assert_eq!(refused.as_deref(), Some("ledger_unwritable"));
    drop((control, tools, broker));
    let verified = binding.run(&["audit", "verify"], &[]);
    assert_eq!(
        verified.code,
        Some(0),
        "half a line was left: {}",
        verified.stderr
    );
    control = binding_restart(&binding).await;
    drop(control);
}

/// A broker with room again serves the same binding.
async fn binding_restart(
    binding: &Binding,
) -> v1::control_client::ControlClient<tonic::transport::Channel> {
    let broker = binding.start();
    let mut control = broker.control().await;
    open(&mut control, "after").await;
    close(&mut control, "after").await;
    control
}

#[tokio::test]
async fn a_stopped_broker_lets_the_open_turn_end_on_record() {
    let binding = Binding::new();
    let broker = binding.start();
    let (_control, _tools) = broker.in_turn("t1").await;
    let (code, log) = broker.stop();
    assert_eq!(code, Some(0), "{log}");
    let shown = binding.run(&["audit", "show"], &["t1", "--json"]).stdout;
    assert!(shown.contains(r#""ending":"broker-stopped""#), "{shown}");
    let last = fs::read_to_string(binding.ledger()).expect("a ledger");
    assert!(
        last.lines()
            .last()
            .expect("a line")
            .contains(r#""kind":"stop""#)
    );
}

//! The operator's commands as an operator runs them: exit codes, sentences, and what is printed where.

use serde_json::{Value, json};

use super::harness::Binding;

#[test]
fn a_binding_that_is_not_strict_is_exit_2_and_the_field_is_named() {
    for (key, value) in [
        ("surprise", json!(1)),
        ("maxFileBytes", json!("many")),
        ("maxCallsPerTurn", json!(0)),
    ] {
        let binding = Binding::new().with(key, value);
        for words in [&["run"][..], &["check"], &["policy"], &["selftest"]] {
            let ended = binding.run(words, &[]);
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (Some(2), ""),
                "{words:?} {key}: {}",
                ended.stderr
            );
            let named =
                ended.stderr.starts_with("mosaic-broker: tools") && ended.stderr.contains(key);
            assert!(named, "{words:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_120_a_root_that_does_not_exist_refuses_the_start_and_leaves_no_socket() {
    let binding = Binding::new();
    std::fs::remove_dir(binding.path("vault")).expect("removed");
    let ended = binding.refused();
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(!binding.path("run/control.sock").exists());
}

#[test]
fn arguments_that_make_no_sense_are_exit_4() {
    let binding = Binding::new();
    assert_eq!(binding.run(&["fly"], &[]).code, Some(4));
    assert_eq!(binding.run(&["run"], &["--fast"]).code, Some(4));
    let help = binding.run(&["run"], &["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
}

#[test]
fn check_creates_nothing_and_says_what_run_would_find() {
    let binding = Binding::new();
    let ended = binding.run(&["check"], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for word in [
        "binding: ",
        "root: library can be opened, read\n",
        "root: vault can be opened, read and write\n",
        "kernel: ",
    ] {
        assert!(ended.stdout.contains(word), "{word} in {}", ended.stdout);
    }
    assert!(
        !binding.path("data/discord/desk").exists(),
        "check created something"
    );
}

#[test]
fn policy_says_in_plain_words_what_is_permitted() {
    let binding = Binding::new();
    let ended = binding.run(&["policy"], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for word in ["library", "vault"] {
        assert!(ended.stdout.contains(word), "{}", ended.stdout);
    }
    let json: Value =
        serde_json::from_str(&binding.run(&["policy"], &["--json"]).stdout).expect("json");
    assert_eq!(
        json["tools"],
        json!(["list_dir", "read_file", "search", "write_file", "edit_file"])
    );
}

#[test]
fn selftest_prints_each_attempt_with_the_kernels_answer() {
    let binding = Binding::new();
    let run = binding.path("run");
    let ended = binding.run(
        &["selftest"],
        &["--runtime-dir", run.to_str().expect("plain")],
    );
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    assert!(ended.stdout.contains("the fence holds"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("BROKEN"), "{}", ended.stdout);
    for line in ended.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }

    let json = binding
        .run(
            &["selftest"],
            &["--json", "--runtime-dir", run.to_str().expect("plain")],
        )
        .stdout;
    let json: Value = serde_json::from_str(&json).expect("json");
    assert_eq!(json["holds"], json!(true));
    assert_eq!(
        json["rows"].as_array().expect("rows").len(),
        ended.stdout.lines().count() - 2
    );
    // Where the table leaves out the front of a path, this tells all of it.
    let journals = binding.path("data/discord/desk");
    let attempt = json!(format!("create a file in {}", journals.display()));
    let rows = json["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["attempt"] == attempt), "{json}");
}

#[test]
fn a_ledger_that_was_never_written_is_said() {
    let ended = Binding::new().run(&["audit", "verify"], &[]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("the binding desk has no ledger"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_reader_that_goes_away_ends_a_command_without_a_word() {
    let binding = Binding::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = binding
        .command(&["policy"], &[])
        .stdout(writer)
        .output()
        .expect("runs");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
}

//! What the running broker cannot do, seen from outside.

use std::{fs, process::Command};

use nix::sys::signal::{Signal, kill};

use super::harness::{Binding, Broker, as_nobody, done, write};

#[tokio::test]
async fn a_121_every_thread_of_the_broker_is_filtered_and_without_new_privileges() {
    let binding = Binding::new();
    let broker = binding.start();
    let (_control, mut tools) = broker.in_turn("t1").await;
    // A call that waits for the disk starts a thread of the blocking pool.
    done(
        tools
            .write_file(write("b.md", "beta\n"))
            .await
            .expect("answered"),
    );

    let mut threads = 0;
    for thread in fs::read_dir(format!("/proc/{}/task", broker.pid())).expect("alive") {
        let status =
            fs::read_to_string(thread.expect("a thread").path().join("status")).expect("alive");
        let value = |key: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .expect("a figure");
            line.trim_start_matches(':').trim().to_owned()
        };
        assert_eq!(
            (value("Seccomp"), value("NoNewPrivs")),
            ("2".to_owned(), "1".to_owned())
        );
        assert_eq!(
            (value("CapPrm"), value("CapBnd")),
            ("0".repeat(16), value("CapBnd"))
        );
        threads += 1;
    }
    assert!(
        threads >= 4,
        "main, two workers and one for calls: {threads}"
    );
}

#[tokio::test]
async fn a_102_the_broker_holds_no_descriptor_it_did_not_open() {
    let binding = Binding::new();
    let broker = binding.start();
    let mut others = Vec::new();
    for entry in fs::read_dir(format!("/proc/{}/fd", broker.pid())).expect("alive") {
        let target = fs::read_link(entry.expect("an entry").path())
            .expect("a link")
            .display()
            .to_string();
        let ours = ["/dev/null", "pipe:", "socket:", "anon_inode:[event"]
            .iter()
            .any(|kind| target.starts_with(kind))
            || target.starts_with(
                binding
                    .path("")
                    .to_str()
                    .expect("plain")
                    .trim_end_matches('/'),
            );
        if !ours {
            others.push(target);
        }
    }
    assert_eq!(others, Vec::<String>::new());
}

#[tokio::test]
async fn a_125_a_process_of_the_same_user_reads_nothing_of_the_broker_and_no_core_is_left() {
    let binding = Binding::new();
    let run = binding.path("run");
    let runtime = ["--runtime-dir", run.to_str().expect("plain")];
    let mut command = binding.command_of_copy(&["run"], &runtime);
    let root = nix::unistd::geteuid().is_root();
    if root {
        as_nobody(&binding, &mut command);
    }
    let broker = Broker::start(&binding, command);

    for file in ["mem", "environ", "maps", "fd"] {
        let mut probe = Command::new("/bin/ls");
        if file != "fd" {
            probe = Command::new("/usr/bin/head");
            probe.arg("-c1");
        }
        probe.arg(format!("/proc/{}/{file}", broker.pid()));
        if root {
            as_nobody(&binding, &mut probe);
        }
        let seen = probe.output().expect("runs");
        assert!(!seen.status.success(), "{file} was read");
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", broker.pid())).expect("alive");
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .expect("a line");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    kill(broker.pid(), Signal::SIGQUIT).expect("signalled");
}

//! `stop`, `unlock` and `recover` as an operator meets them: the real program against real processes that hold a binding.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose ground is missing ends where it is missing"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// A data root with the binding `sage`, whose lock may name a process.
struct Root {
    folder: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    code: i32,
    said: String,
}

/// A process that holds a binding and does nothing else.
struct Holder(Child);

impl Root {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Self { folder };
        fs::create_dir_all(root.data()).unwrap();
        set_mode(&root.data(), 0o700);
        root
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("discord/sage")
    }

    fn stop(&self) -> PathBuf {
        self.data().join("STOP")
    }

    fn lock(&self) -> PathBuf {
        self.data().join("run.lock")
    }

    fn locked_with(self, record: &str) -> Self {
        fs::create_dir(self.lock()).unwrap();
        fs::write(self.lock().join("owner.json"), record).unwrap();
        self
    }

    /// Runs the program with nothing of this process's environment.
    fn run(&self, arguments: &[&str]) -> Ended {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_mosaic-discord"))
            .args(arguments)
            .env_clear()
            .env("MOSAIC_DATA_ROOT", self.folder.path())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "",
            "data goes to stdout, and these commands have none"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        let too_long = |line: &&str| line.chars().count() > 80 && line.contains(' ');
        assert_eq!(said.lines().find(too_long), None, "lines fit the screen");
        Ended {
            code: output.status.code().unwrap(),
            said,
        }
    }

    /// Every file below the binding's folder with its content.
    fn everything(&self) -> Vec<(PathBuf, String)> {
        fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, found),
                    false => found.push((path.clone(), fs::read_to_string(path).unwrap())),
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.data(), &mut found);
        found.sort();
        found
    }
}

impl Holder {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn start(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(19)
            .unwrap()
            .parse()
            .unwrap()
    }

    fn record(&self) -> String {
        self.record_with(self.start(), &boot())
    }

    fn record_with(&self, start: u64, boot: &str) -> String {
        format!(
            r#"{{"pid":{},"start":{start},"boot":"{boot}"}}"#,
            self.pid()
        )
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap()
        .trim()
        .to_owned()
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn stop_writes_stop_and_ends_the_process_that_holds_the_binding() {
    let mut holder = Holder::new();
    let root = Root::new().locked_with(&holder.record());

    let ended = root.run(&["stop", "sage"]);

    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(
        ended
            .said
            .contains(&format!("pid {} was told to end", holder.pid())),
        "{}",
        ended.said
    );
    let status = holder.0.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(15)
    );
    assert!(
        fs::read_to_string(root.stop())
            .unwrap()
            .starts_with("stop ")
    );
}

#[test]
fn stop_without_an_owner_is_the_brake_alone() {
    let root = Root::new();

    let ended = root.run(&["stop", "sage"]);

    assert_eq!(ended.code, 0);
    assert!(root.stop().is_file());
}

#[test]
fn a_reused_pid_and_a_pid_of_a_previous_boot_are_never_signaled() {
    for previous_boot in [false, true] {
        let mut holder = Holder::new();
        let record = if previous_boot {
            holder.record_with(holder.start(), "7c9e6679-7425-40de-944b-e07fc1f90ae7")
        } else {
            holder.record_with(holder.start() + 1, &boot())
        };
        let root = Root::new().locked_with(&record);

        let ended = root.run(&["stop", "sage"]);

        assert_eq!(
            ended.code, 0,
            "the brake is on, and nothing runs: {}",
            ended.said
        );
        assert!(ended.said.contains("unlock sage"), "{}", ended.said);
        assert!(holder.is_alive());
    }
}

#[test]
fn a_living_pid_in_doubt_is_never_signaled_and_stop_says_so() {
    let mut holder = Holder::new();
    let old = format!(r#"{{"pid":{},"start":{}}}"#, holder.pid(), holder.start());
    for record in [old.as_str(), "not a record"] {
        let root = Root::new().locked_with(record);

        let ended = root.run(&["stop", "sage"]);

        assert_eq!(ended.code, 1, "{}", ended.said);
        assert!(ended.said.contains("nobody was signaled"), "{}", ended.said);
        assert!(holder.is_alive());
        assert!(root.stop().is_file());
    }
}

#[test]
fn unlock_clears_the_lock_of_a_killed_owner_and_leaves_stop() {
    let mut holder = Holder::new();
    let root = Root::new().locked_with(&holder.record());
    holder.0.kill().unwrap();
    // Not collected yet: it has ended all the same.

    let ended = root.run(&["unlock", "sage"]);

    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(!root.lock().exists());
    assert!(
        fs::read_to_string(root.stop())
            .unwrap()
            .starts_with("unlock ")
    );
}

#[test]
fn unlock_refuses_while_the_owner_runs_or_is_in_doubt_and_removes_nothing() {
    let holder = Holder::new();
    let records = [
        holder.record(),
        format!(r#"{{"pid":{},"start":{}}}"#, holder.pid(), holder.start()),
        holder.record().replace(&boot(), "yesterday"),
        "{".to_owned(),
    ];
    for record in records {
        let root = Root::new().locked_with(&record);

        let ended = root.run(&["unlock", "sage"]);

        assert_eq!(ended.code, 3, "{}", ended.said);
        assert_eq!(
            fs::read_to_string(root.lock().join("owner.json")).unwrap(),
            record
        );
    }
}

#[test]
fn recover_clears_a_dead_lock_and_lifts_the_stop_it_wrote() {
    for record in [r#"{"pid":4194304,"start":1,"boot":"x"}"#, ""] {
        let root = Root::new();
        fs::create_dir(root.lock()).unwrap();
        if !record.is_empty() {
            fs::write(root.lock().join("owner.json"), record).unwrap();
        }

        let ended = root.run(&["recover", "sage"]);

        assert_eq!(ended.code, 0, "{}", ended.said);
        assert_eq!(root.everything(), []);
        assert!(!root.lock().exists());
    }
}

#[test]
fn recover_refuses_with_exit_3_and_touches_nothing() {
    let holder = Holder::new();
    let dead = r#"{"pid":4194304,"start":1,"boot":"x"}"#.to_owned();
    let in_doubt = format!(r#"{{"pid":{},"start":{}}}"#, holder.pid(), holder.start());
    for (record, stop) in [
        (dead, Some("by hand\n")),
        (holder.record(), None),
        (in_doubt, None),
        ("{".to_owned(), None),
    ] {
        let root = Root::new().locked_with(&record);
        if let Some(stop) = stop {
            fs::write(root.stop(), stop).unwrap();
        }
        let before = root.everything();

        let ended = root.run(&["recover", "sage"]);

        assert_eq!(ended.code, 3, "{}", ended.said);
        assert_eq!(root.everything(), before);
    }
}

#[test]
fn a_misspelt_binding_is_exit_2_and_makes_no_folder() {
    let root = Root::new();

    for command in ["stop", "unlock", "recover"] {
        assert_eq!(root.run(&[command, "sgae"]).code, 2);
    }
    assert!(!root.data().with_file_name("sgae").exists());
}

#[test]
fn a_command_line_that_says_nothing_is_exit_4() {
    let root = Root::new();

    for arguments in [
        &[][..],
        &["halt", "sage"],
        &["stop"],
        &["stop", "../sage"],
        &["stop", "sage", "--now"],
    ] {
        assert_eq!(root.run(arguments).code, 4, "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_data_and_no_failure() {
    for argument in ["--help", "--version"] {
        let output = Command::new(env!("CARGO_BIN_EXE_mosaic-discord"))
            .arg(argument)
            .env_clear()
            .output()
            .unwrap();

        assert_eq!(output.status.code(), Some(0));
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
}

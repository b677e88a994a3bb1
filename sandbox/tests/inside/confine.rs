//! The launcher as a program: what it hands on, what it refuses, and the engine's fence seen from outside.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output, Stdio};

use mosaic_sandbox::profiles::EngineReach;
use mosaic_sandbox::{RequiredAbi, launch_engine};

use super::of_every_thread;
use super::stage::Stage;

fn stage() -> Stage {
    Stage::with_folders(&["read", "work", "run", "outside"])
        .and_file("read/note", "read me\n")
        .and_file("outside/secret", "s3cret\n")
}

/// A shell in the place of node: it needs no more to run, and tells what it was refused.
fn reach(stage: &Stage) -> EngineReach {
    EngineReach {
        node: "/bin/sh".into(),
        read: vec![stage.path("read")],
        write: vec![stage.path("work")],
        model_ports: vec![8080],
        resolves_names: false,
    }
}

fn command(stage: &Stage, script: &str) -> Command {
    let confine = env!("CARGO_BIN_EXE_confine").as_ref();
    let line = launch_engine(
        confine,
        &reach(stage),
        RequiredAbi::default(),
        None,
        &["-c".into(), script.into()],
    );
    command_of(&line)
}

fn command_of(line: &[std::ffi::OsString]) -> Command {
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).env_clear().stdin(Stdio::null());
    command
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn the_program_gets_its_arguments_its_environment_and_its_folders() {
    let stage = stage();
    let script = format!(
        "read note < {0}/read/note; echo $note $WORD $0; echo x > {0}/work/file",
        stage.path("").display()
    );
    let output = command(&stage, &script)
        .env("WORD", "word")
        .output()
        .unwrap();
    assert_eq!(
        told(&output),
        (Some(0), "read me word /bin/sh\n".to_owned())
    );
    assert_eq!(
        std::fs::read_to_string(stage.path("work/file")).unwrap(),
        "x\n"
    );
}

#[test]
fn a_124_nothing_can_be_started_after_the_program() {
    let stage = stage();
    std::fs::copy("/bin/true", stage.path("work/true")).unwrap();
    for program in [
        "/bin/true".to_owned(),
        "/bin/sh".to_owned(),
        stage.path("work/true").display().to_string(),
    ] {
        let (code, text) = told(
            &command(&stage, &format!("exec {program}"))
                .output()
                .unwrap(),
        );
        assert_eq!(code, Some(126), "{text}");
        assert!(text.contains("not permitted"), "{text}");
    }
    let (code, text) = told(&command(&stage, "/bin/true; echo went on").output().unwrap());
    assert_ne!(code, Some(0), "{text}");
    assert!(!text.contains("went on"), "a process was made: {text}");
}

#[test]
fn a_123_reading_outside_and_writing_outside_are_denied() {
    let stage = stage();
    let outside = stage.path("outside");
    let script = format!("read secret < {}/secret && echo $secret", outside.display());
    let (code, text) = told(&command(&stage, &script).output().unwrap());
    assert!(
        code != Some(0) && text.contains("ermission denied") && !text.contains("s3cret"),
        "{text}"
    );
    let (code, _) = told(
        &command(&stage, &format!("echo x > {}/new", outside.display()))
            .output()
            .unwrap(),
    );
    assert_ne!(code, Some(0));
    assert!(!outside.join("new").exists());
}

#[test]
fn a_102_the_program_has_its_four_descriptors_and_no_other() {
    let stage = stage();
    let socket = stage.path("run/tools.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let confine = env!("CARGO_BIN_EXE_confine").as_ref();
    let arguments = [
        "-c".into(),
        "read word <&3; echo $word; read forever".into(),
    ];
    let line = launch_engine(
        confine,
        &reach(&stage),
        RequiredAbi::default(),
        Some(&socket),
        &arguments,
    );
    // Descriptors without close-on-exec, as a careless parent leaves them.
    // SAFETY: numbers only; they stay open in this test process.
    let leaked = unsafe { [libc::dup(1), libc::dup(1)] };
    assert!(leaked.iter().all(|descriptor| *descriptor > 2));

    let mut child = Running(
        command_of(&line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let (mut connection, _) = listener.accept().unwrap();
    connection.write_all(b"hello\n").unwrap();

    assert_eq!(child.line(), "hello");
    let pid = child.0.id();
    let mut names: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["0", "1", "2", "3"]);
    assert_eq!(of_every_thread(pid.cast_signed(), "Seccomp:"), ["2"]);
    assert_eq!(of_every_thread(pid.cast_signed(), "NoNewPrivs:"), ["1"]);
    assert_eq!(
        of_every_thread(pid.cast_signed(), "CapPrm:"),
        ["0000000000000000"]
    );
}

#[test]
fn without_a_connection_descriptor_3_is_closed() {
    let stage = stage();
    let (code, text) = told(&command(&stage, "read word <&3").output().unwrap());
    assert!(code != Some(0) && text.contains("3"), "{text}");
}

#[test]
fn the_program_has_limits_it_cannot_raise() {
    let stage = stage();
    let (_, text) = told(
        &command(
            &stage,
            "ulimit -n; ulimit -c; umask; ulimit -n 4096 2>/dev/null || echo kept",
        )
        .output()
        .unwrap(),
    );
    assert!(text.starts_with("1024\n0\n0077\n"), "{text}");
}

#[test]
fn every_failure_is_one_sentence_and_exit_2() {
    let stage = stage();
    let confine = env!("CARGO_BIN_EXE_confine").as_ref();
    let sentence = |reach: &EngineReach, connect: Option<&str>| {
        let line = launch_engine(
            confine,
            reach,
            RequiredAbi::default(),
            connect.map(AsRef::as_ref),
            &[],
        );
        let (code, text) = told(&command_of(&line).output().unwrap());
        assert_eq!((code, text.lines().count()), (Some(2), 1), "{text}");
        text
    };
    let gone = stage.path("gone");
    let missing = EngineReach {
        read: vec![gone.clone()],
        ..reach(&stage)
    };
    assert_eq!(
        sentence(&missing, None),
        format!(
            "the engine profile names {}, which cannot be opened: No such file or directory (os error 2)\n",
            gone.display()
        )
    );
    let no_socket = sentence(&reach(&stage), Some("/nowhere/tools.sock"));
    assert!(no_socket.contains("/nowhere/tools.sock"), "{no_socket}");
    let no_program = EngineReach {
        node: stage.path("read/note"),
        ..reach(&stage)
    };
    assert_eq!(
        sentence(&no_program, None),
        "start the program: Permission denied (os error 13)\n"
    );

    let (code, text) = told(
        &Command::new(confine)
            .arg("engine")
            .arg("--frobnicate")
            .arg("x")
            .output()
            .unwrap(),
    );
    assert_eq!(
        (code, text.as_str()),
        (Some(2), "confine: --frobnicate is not known\n")
    );
}

#[test]
fn a_127_the_program_dies_with_the_thread_that_started_it() {
    let stage = stage();
    // Held here too, so that the shell never sees an end of its input, which would end it as well.
    let (input, _held) = std::io::pipe().unwrap();
    let mut starter = super::stage::Child::start(|parent| {
        let mut child = command(&stage, "echo up; read forever");
        let child = child.stdin(input).stdout(Stdio::piped()).spawn();
        let mut child = Running(child.unwrap());
        assert_eq!(child.line(), "up");
        parent.say(&child.0.id().to_string());
        parent.wait();
    });
    let pid: libc::pid_t = starter.line().parse().unwrap();
    // The orphan is handed to us, so that its end can be waited for.
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };

    drop(starter);

    let mut status = 0;
    // SAFETY: waits for a process that became our child when its parent was killed.
    let reaped = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(reaped, pid, "{}", std::io::Error::last_os_error());
    assert!(libc::WIFSIGNALED(status), "{status:#x}");
    assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
}

/// Started program, killed with the value.
struct Running(Child);

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

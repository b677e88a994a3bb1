//! A kernel without Landlock, or with an older one, played by a filter that answers in its place.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use mosaic_sandbox::profiles::EngineReach;
use mosaic_sandbox::{RequiredAbi, launch_engine};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::stage::Stage;

/// What the launcher says and exits with where `landlock_create_ruleset` answers `errno`.
fn launched_where_landlock_answers(errno: i32) -> (Option<i32>, String) {
    let stage = Stage::with_folders(&["work"]);
    let reach = EngineReach {
        node: "/bin/sh".into(),
        read: vec![],
        write: vec![stage.path("work")],
        model_ports: vec![],
        resolves_names: false,
    };
    let started = stage.path("work/started");
    let script = format!("echo started > {}", started.display());
    let confine = env!("CARGO_BIN_EXE_confine").as_ref();
    let line = launch_engine(
        confine,
        &reach,
        RequiredAbi::default(),
        None,
        &["-c".into(), script.into()],
    );
    let shim = shim(errno);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]);
    // SAFETY: the closure makes two system calls on a program built before and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            seccompiler::apply_filter(&shim).map_err(|_| std::io::Error::last_os_error())
        });
    }
    let output = command.output().unwrap();
    assert!(!started.exists(), "the program was started");
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn shim(errno: i32) -> BpfProgram {
    let call = BTreeMap::from([(libc::SYS_landlock_create_ruleset, vec![])]);
    let answer = SeccompAction::Errno(errno.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    SeccompFilter::new(call, SeccompAction::Allow, answer, arch)
        .unwrap()
        .try_into()
        .unwrap()
}

#[test]
fn a_119_without_landlock_nothing_is_started_and_the_exit_is_2() {
    let (code, sentence) = launched_where_landlock_answers(libc::ENOSYS);
    assert_eq!(code, Some(2));
    assert!(sentence.starts_with("Linux "), "{sentence}");
    assert!(
        sentence.ends_with(
            " has no Landlock; this program needs Landlock ABI 6 (Linux 6.12) or newer. Missing: files and folders, links and \
             renames across folders, truncation, TCP ports, ioctl on devices, signals and abstract sockets. Nothing was started.\n"
        ),
        "{sentence}"
    );
}

#[test]
fn a_119_with_landlock_switched_off_nothing_is_started_and_the_exit_is_2() {
    let (code, sentence) = launched_where_landlock_answers(libc::EOPNOTSUPP);
    assert_eq!(code, Some(2));
    assert!(sentence.contains("has Landlock switched off"), "{sentence}");
}

//! Real processes inside each profile: what must work works, what must fail fails, and the parent looks at them from
//! outside. Test names carry the abuse case they are about.
#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails the test that called it"
)]
#![expect(
    unsafe_code,
    reason = "the tests fork, and make the calls the fence is about"
)]

mod broker;
mod confine;
mod connector;
mod engine;
mod old_kernel;
mod stage;

use std::fmt::Debug;
use std::io;

use mosaic_sandbox::selftest::{self, Ground, Probe};
use mosaic_sandbox::{Entered, Profile, RequiredAbi};

use stage::Parent;

/// Enters the profile, as a program's `main` does.
fn enter(profile: &Profile) -> Entered {
    mosaic_sandbox::harden_process().unwrap();
    profile
        .prepare(RequiredAbi::default())
        .unwrap()
        .enter()
        .unwrap()
}

/// Says each attempt of the self-test that did not go as expected, and how many were made.
fn say_broken(parent: &mut Parent, entered: &Entered, ground: &Ground, extra: &[Probe]) {
    let report = selftest::run(entered, Some(ground), extra);
    report
        .broken()
        .for_each(|row| parent.say(&format!("{row:?}")));
    parent.say(if report.attempts() > 80 {
        "many attempts"
    } else {
        "few attempts"
    });
}

/// The number of the error.
fn errno<T: Debug>(outcome: io::Result<T>) -> Option<i32> {
    outcome.unwrap_err().raw_os_error()
}

/// The values of one field in `/proc/<pid>/task/*/status`, one for each thread.
fn of_every_thread(pid: libc::pid_t, field: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status =
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
    let value = |status: String| {
        status.lines().find_map(|line| {
            line.strip_prefix(field)
                .map(|rest| rest[1..].trim().to_owned())
        })
    };
    status.map(|status| value(status).unwrap()).collect()
}

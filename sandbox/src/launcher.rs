//! What the program `confine` does: from a command line to the engine in its fence. It starts inside the connector's own
//! fence, which can only become narrower, and is gone once the engine runs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::error::SandboxError;
use crate::launch::Launch;
use crate::{process, profiles, selftest};

/// The descriptor the engine finds its connection at.
const CONNECTION: RawFd = 3;

/// Open descriptors of the engine: enough for pi and its sessions; a runaway ends with an error of its own.
const DESCRIPTORS: u64 = 1024;

/// Opens the connection, hardens and limits itself, closes every descriptor but 0, 1, 2 and the connection, enters the
/// engine's profile, tries it, and becomes node. Returns only when a step failed; the caller prints the sentence and exits
/// with 2.
pub fn confine(line: impl IntoIterator<Item = OsString>) -> SandboxError {
    match enter(line) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn enter(
    line: impl IntoIterator<Item = OsString>,
) -> Result<std::convert::Infallible, SandboxError> {
    let launch = Launch::parse(line)?;
    process::harden_process()?;
    process::die_with_parent()?;
    process::limit_descriptors(DESCRIPTORS)?;
    let kept = match &launch.connect {
        Some(socket) => {
            let connection = UnixStream::connect(socket).map_err(|cause| SandboxError::Path {
                profile: "engine",
                path: socket.clone(),
                cause,
            })?;
            place(connection)?;
            CONNECTION + 1
        }
        None => CONNECTION,
    };
    process::keep_descriptors(kept)?;
    let fence = profiles::engine(&launch.reach)
        .prepare(launch.required)?
        .then_exec(&launch.reach.node)?;
    let entered = fence.enter()?;
    let report = selftest::run(&entered, None, &[]);
    if !report.holds() {
        return Err(SandboxError::Broken(broken(&report)));
    }
    Err(entered.exec(&launch.arguments))
}

/// Moves the connection to its number, open across the exec.
fn place(connection: UnixStream) -> Result<(), SandboxError> {
    if connection.as_raw_fd() == CONNECTION {
        let descriptor = connection.into_raw_fd(); // now owned by the program to come
        // SAFETY: fcntl on a descriptor that was just open; it takes numbers only.
        if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } == -1 {
            return Err(SandboxError::last(
                "keep the connection across the start of the program",
            ));
        }
        return Ok(());
    }
    // SAFETY: whatever descriptor 3 was is inherited and unused by this process; dup2 replaces it in one step.
    if unsafe { libc::dup2(connection.as_raw_fd(), CONNECTION) } == -1 {
        return Err(SandboxError::Step {
            step: "give the connection its number",
            cause: io::Error::last_os_error(),
        });
    }
    Ok(())
}

fn broken(report: &selftest::Report) -> String {
    let mut rows = String::new();
    for row in report.broken() {
        let separator = if rows.is_empty() { "" } else { "; " };
        let _ = write!(
            rows,
            "{separator}{}: expected {}, got {}",
            row.attempt, row.expected, row.answer
        );
    }
    rows
}

//! Whether a process lives and when it started, as the kernel tells it. The only file that reads `/proc`; judging who a
//! process is happens elsewhere, so that tests can play every case.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// What the kernel says of processes. The second implementation is played by tests.
pub trait Processes {
    /// The id of this boot of the machine.
    ///
    /// # Errors
    /// When it cannot be read.
    fn boot_id(&self) -> io::Result<String>;

    /// Whether `pid` lives, and since when.
    fn life(&self, pid: u32) -> Life;
}

/// One process id, looked at once.
#[derive(Debug)]
pub enum Life {
    /// No process has this id, or only an ended one that its parent has not collected.
    Ended,
    /// A process has this id. Its start in clock ticks since the boot: with the id and the boot, its identity.
    Running(io::Result<u64>),
}

/// The running kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel;

impl Processes for Kernel {
    fn boot_id(&self) -> io::Result<String> {
        Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
            .trim_end()
            .to_owned())
    }

    fn life(&self, pid: u32) -> Life {
        let Ok(raw) = i32::try_from(pid) else {
            return Life::Ended;
        };
        let exists = || kill(Pid::from_raw(raw), None) != Err(Errno::ESRCH);
        if !exists() {
            return Life::Ended;
        }
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => read_stat(&stat),
            // It may have ended between the two looks; if it has not, we are not allowed to see it.
            Err(_) if !exists() => Life::Ended,
            Err(error) => Life::Running(Err(error)),
        }
    }
}

/// Reads `/proc/<pid>/stat`. The second field is the program's name in brackets and may hold anything, brackets and spaces
/// included, so fields are counted after the last bracket.
fn read_stat(stat: &str) -> Life {
    let unreadable = || {
        Life::Running(Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "unexpected /proc/<pid>/stat",
        )))
    };
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return unreadable();
    };
    // Field 3, the state, is the first here; field 22, the start, is the twentieth.
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    match (
        fields.first(),
        fields.get(19).and_then(|start| start.parse().ok()),
    ) {
        (Some(&("Z" | "X")), _) => Life::Ended,
        (Some(_), Some(start)) => Life::Running(Ok(start)),
        _ => unreadable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str) -> String {
        format!("7 ({name}) {state} 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 123456 99 1\n")
    }

    #[test]
    fn the_start_is_found_behind_any_program_name() {
        for name in ["mosaic-discord", "a b", "x) R 1 2", "((", ""] {
            assert!(
                matches!(read_stat(&stat(name, "S")), Life::Running(Ok(123_456))),
                "{name}"
            );
        }
    }

    #[test]
    fn a_process_that_waits_to_be_collected_has_ended() {
        assert!(matches!(read_stat(&stat("x", "Z")), Life::Ended));
    }

    #[test]
    fn a_line_that_is_not_understood_is_unreadable_and_not_an_end() {
        for line in ["", "7 (x", "7 (x) S 1 2", "7 (x) "] {
            assert!(matches!(read_stat(line), Life::Running(Err(_))), "{line:?}");
        }
    }

    #[test]
    fn this_process_runs_and_its_start_does_not_change() {
        let start = || match Kernel.life(std::process::id()) {
            Life::Running(Ok(start)) => start,
            other => panic!("{other:?}"),
        };

        assert_eq!(start(), start());
        assert_eq!(Kernel.boot_id().unwrap().len(), 36);
    }

    #[test]
    fn an_id_no_process_can_have_has_ended() {
        assert!(matches!(Kernel.life(u32::MAX), Life::Ended));
    }
}

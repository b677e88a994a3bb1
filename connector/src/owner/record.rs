//! `owner.json`: who holds a binding, and the judgement whether that one still lives. A process is the one recorded only
//! when id, start and boot all match; whatever cannot be established is never taken for an answer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::process::{Life, Processes};

/// A process, beyond doubt: ids are reused, but not with the same start in the same boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Identity {
    pub(super) pid: u32,
    /// Clock ticks since the boot, from `/proc/<pid>/stat`.
    pub(super) start: u64,
    /// `/proc/sys/kernel/random/boot_id`.
    pub(super) boot: String,
}

/// What a record says, before anything in it is believed. `start` and `boot` may be missing or odd in a record of an
/// older version; a record without a process id says nothing at all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pid: std::num::NonZeroU32,
    start: Option<Value>,
    boot: Option<Value>,
}

/// What became of the process a record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs: id, start and boot match.
    Runs,
    /// It is gone.
    Gone(Gone),
    /// A process has the id, and whether it is the recorded one cannot be established.
    InDoubt(Doubt),
}

/// How it is known that the process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// No process has the id.
    Ended,
    /// Another process has the id now.
    Reused,
    /// The machine was booted since.
    PreviousBoot,
}

/// Why it cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The record has no boot id: an older version wrote it.
    NoBoot,
    /// What the record gives as boot is no boot id.
    BadBoot,
    /// What the record gives as start is no start in ticks.
    BadStart,
    /// The kernel does not tell right now.
    KernelSilent,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "it has ended",
            Self::Reused => "another process has its id now",
            Self::PreviousBoot => "the machine was booted since",
        })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoBoot => "its record has no boot id, so an older version wrote it",
            Self::BadBoot => "the boot id in its record is none",
            Self::BadStart => "the start in its record is none",
            Self::KernelSilent => "/proc cannot be read right now",
        })
    }
}

impl Identity {
    /// Who `pid` is right now, if it can be said.
    pub(super) fn of(pid: u32, processes: &impl Processes) -> std::io::Result<Self> {
        let start = match processes.life(pid) {
            Life::Running(start) => start?,
            Life::Ended => return Err(std::io::ErrorKind::NotFound.into()),
        };
        let boot = processes.boot_id()?;
        if !is_boot_id(&boot) {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "the kernel gave no boot id",
            ));
        }
        Ok(Self { pid, start, boot })
    }
}

impl Claim {
    pub(super) fn pid(&self) -> u32 {
        self.pid.get()
    }

    /// Judges what became of the process.
    pub(super) fn fate(&self, processes: &impl Processes) -> Fate {
        // A dead process is gone whatever else the record says: this is how an odd record is cleared at last.
        let Life::Running(start) = processes.life(self.pid()) else {
            return Fate::Gone(Gone::Ended);
        };
        let recorded = match self.identity() {
            Ok(recorded) => recorded,
            Err(doubt) => return Fate::InDoubt(doubt),
        };
        match (processes.boot_id(), start) {
            (Ok(boot), _) if is_boot_id(&boot) && boot != recorded.boot => {
                Fate::Gone(Gone::PreviousBoot)
            }
            (Ok(boot), Ok(start)) if is_boot_id(&boot) && start != recorded.start => {
                Fate::Gone(Gone::Reused)
            }
            (Ok(boot), Ok(_)) if is_boot_id(&boot) => Fate::Runs,
            _ => Fate::InDoubt(Doubt::KernelSilent),
        }
    }

    fn identity(&self) -> Result<Identity, Doubt> {
        let boot = self.boot.as_ref().ok_or(Doubt::NoBoot)?;
        let boot = boot
            .as_str()
            .filter(|boot| is_boot_id(boot))
            .ok_or(Doubt::BadBoot)?;
        let start = self
            .start
            .as_ref()
            .and_then(Value::as_u64)
            .ok_or(Doubt::BadStart)?;
        Ok(Identity {
            pid: self.pid(),
            start,
            boot: boot.to_owned(),
        })
    }
}

/// `8-4-4-4-12` lower-case hex digits.
fn is_boot_id(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12]
        && text
            .bytes()
            .all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const BOOT: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
    const OTHER_BOOT: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

    /// A kernel that answers as told.
    struct Played {
        boot: Option<&'static str>,
        life: fn() -> Life,
    }

    impl Processes for Played {
        fn boot_id(&self) -> io::Result<String> {
            self.boot
                .map(str::to_owned)
                .ok_or_else(|| io::ErrorKind::PermissionDenied.into())
        }

        fn life(&self, pid: u32) -> Life {
            assert_eq!(pid, 41);
            (self.life)()
        }
    }

    fn unseen() -> Life {
        Life::Running(Err(io::ErrorKind::PermissionDenied.into()))
    }

    fn fate(record: &str, boot: Option<&'static str>, life: fn() -> Life) -> Fate {
        serde_json::from_str::<Claim>(record)
            .unwrap()
            .fate(&Played { boot, life })
    }

    fn record(start: &str, boot: &str) -> String {
        format!(r#"{{"pid":41,"start":{start},"boot":{boot}}}"#)
    }

    #[test]
    fn only_the_same_id_start_and_boot_is_the_same_process() {
        let good = record("100", &format!("\"{BOOT}\""));

        assert_eq!(
            fate(&good, Some(BOOT), || Life::Running(Ok(100))),
            Fate::Runs
        );
        assert_eq!(
            fate(&good, Some(BOOT), || Life::Running(Ok(101))),
            Fate::Gone(Gone::Reused)
        );
        assert_eq!(
            fate(&good, Some(OTHER_BOOT), || Life::Running(Ok(100))),
            Fate::Gone(Gone::PreviousBoot)
        );
        assert_eq!(
            fate(&good, Some(BOOT), || Life::Ended),
            Fate::Gone(Gone::Ended)
        );
    }

    #[test]
    fn a_kernel_that_does_not_tell_leaves_it_in_doubt() {
        let good = record("100", &format!("\"{BOOT}\""));
        let doubt = Fate::InDoubt(Doubt::KernelSilent);

        assert_eq!(fate(&good, None, || Life::Running(Ok(100))), doubt);
        assert_eq!(
            fate(&good, Some("garbage"), || Life::Running(Ok(100))),
            doubt
        );
        assert_eq!(fate(&good, Some(BOOT), unseen), doubt);
        assert_eq!(fate(&good, None, unseen), doubt);
        assert_eq!(
            fate(&good, Some(OTHER_BOOT), unseen),
            Fate::Gone(Gone::PreviousBoot)
        );
    }

    #[test]
    fn an_odd_record_over_a_living_process_is_in_doubt_and_over_a_dead_one_is_gone() {
        let boot = format!("\"{BOOT}\"");
        for (odd, doubt) in [
            (r#"{"pid":41,"start":100}"#.to_owned(), Doubt::NoBoot),
            (
                r#"{"pid":41,"start":100,"boot":null}"#.to_owned(),
                Doubt::NoBoot,
            ),
            (record("100", "\"yesterday\""), Doubt::BadBoot),
            (record("100", "7"), Doubt::BadBoot),
            (
                record("100", &format!("\"{}\"", BOOT.to_uppercase())),
                Doubt::BadBoot,
            ),
            (format!(r#"{{"pid":41,"boot":{boot}}}"#), Doubt::BadStart),
            (record("\"100\"", &boot), Doubt::BadStart),
            (record("-1", &boot), Doubt::BadStart),
            (record("1.5", &boot), Doubt::BadStart),
        ] {
            assert_eq!(
                fate(&odd, Some(BOOT), || Life::Running(Ok(100))),
                Fate::InDoubt(doubt),
                "{odd}"
            );
            assert_eq!(
                fate(&odd, Some(BOOT), || Life::Ended),
                Fate::Gone(Gone::Ended),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_record_without_a_process_id_does_not_parse() {
        for text in [
            "",
            "{}",
            r#"{"pid":0}"#,
            r#"{"pid":-4}"#,
            r#"{"pid":"41"}"#,
            r#"{"pid":41,"more":1}"#,
            "[41]",
            "null",
        ] {
            assert!(serde_json::from_str::<Claim>(text).is_err(), "{text}");
        }
    }
}
